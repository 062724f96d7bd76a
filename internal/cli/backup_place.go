package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"quittance/internal/ops/backup"
)

// place holds the flags that say how an S3-compatible store is reached. The credentials are not among them. The names
// of the variables are given, because kong would make S_3 of s3.
type place struct {
	S3Endpoint string        `name:"s3-endpoint" env:"QUITTANCE_S3_ENDPOINT" placeholder:"URL" help:"Address of the S3-compatible store; that of Amazon S3 for the region if not set."`
	S3Region   string        `name:"s3-region" env:"QUITTANCE_S3_REGION" placeholder:"NAME" default:"us-east-1" help:"Region of the bucket."`
	S3CA       string        `name:"s3-ca" env:"QUITTANCE_S3_CA" placeholder:"FILE" help:"PEM file with the authorities that may have signed the certificate of the store; those of the system if not set."`
	S3Timeout  time.Duration `name:"s3-timeout" env:"QUITTANCE_S3_TIMEOUT" placeholder:"DURATION" default:"2m" help:"Longest time for one attempt to write or read one object of up to 9 MiB; each gets four attempts."`
}

// errPlace reports an address of a place that is none. flag is its name.
func errPlace(flag string) error {
	return fmt.Errorf("%s: want a directory, such as /backups or file:///backups, or s3://BUCKET/PREFIX", flag)
}

// openPlace returns the place that a flag names.
func (p place) openPlace(flag, address string) (backup.Place, error) {
	scheme, _, hasScheme := strings.Cut(address, "://")
	switch {
	case address == "":
		return nil, errPlace(flag)
	case !hasScheme:
		return backup.OpenDirectory(address)
	case scheme == "file":
		u, err := url.Parse(address)
		if err != nil || u.Host != "" || u.Path == "" {
			return nil, errPlace(flag)
		}
		return backup.OpenDirectory(u.Path)
	case scheme == "s3":
		return p.bucket(flag, address)
	}
	return nil, errPlace(flag)
}

func (p place) bucket(flag, address string) (backup.Place, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errPlace(flag) // without the address, because a user in it can be a credential
	}
	if p.S3Timeout <= 0 {
		return nil, errors.New("--s3-timeout must be more than 0")
	}
	return backup.OpenS3(backup.Bucket{Name: u.Host, Prefix: strings.Trim(u.Path, "/"), Endpoint: p.S3Endpoint,
		Region: p.S3Region, CA: p.S3CA, Timeout: p.S3Timeout})
}
