package conformance_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// These show the code of an authenticator app that the program's own session begins (RFC 6238).
const (
	javascriptTOTP = `import { createHmac } from "node:crypto";
const bits = [...(await quittance.secondFactor.beginTotp()).secret].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
const step = Buffer.alloc(8);
step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000)));
const mac = createHmac("sha1", key).update(step).digest();
code = String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000).padStart(6, "0");
`
	pythonTOTP = `import base64, hashlib, hmac, struct, time
secret = base64.b32decode(client.second_factor.begin_totp()["secret"])
mac = hmac.new(secret, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
code = "%06d" % ((struct.unpack_from(">I", mac, mac[19] & 15)[0] & 0x7fffffff) % 1000000)
`
	goTOTP = `
func totp(secret string) string {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, time.Now().Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff)%1000000)
}
`
)

// totp returns the code of an authenticator app now (RFC 6238).
func totp(t *testing.T, secret string) string {
	t.Helper()
	key := must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret))(t)
	mac := hmac.New(sha1.New, key)
	if err := binary.Write(mac, binary.BigEndian, time.Now().Unix()/30); err != nil {
		t.Fatal(err)
	}
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:at+4])&0x7fffffff)%1000000)
}
