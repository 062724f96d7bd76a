package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket configures a place in an S3-compatible store.
type Bucket struct {
	// Name is the bucket, which must exist. Prefix is the common beginning of all objects, without slashes at its ends;
	// may be empty.
	Name, Prefix string
	// Endpoint is the address of the store, such as https://s3.eu-central-1.amazonaws.com; that of Amazon S3 for the
	// region if empty. A path is not possible, and http:// only for an address of this machine.
	Endpoint string
	// Region is that of the bucket; us-east-1 if empty.
	Region string
	// CA is a file with the certificates, in PEM form, of the authorities that may have signed that of the store; those of
	// the system if empty.
	CA string
	// Timeout bounds one attempt of one request, with its whole body of up to 9 MiB; see [DefaultTimeout].
	Timeout time.Duration
}

const (
	// DefaultTimeout lets a connection of 1 Mbit/s write a part.
	DefaultTimeout = 2 * time.Minute
	// s3Attempts is how often a request is made before a backup or a restore fails.
	s3Attempts = 4
	// s3Pause is the time before the second attempt. It doubles with each further attempt.
	s3Pause = 500 * time.Millisecond
	// connectTimeout bounds the connection to the store and the handshake of TLS, each.
	connectTimeout = 10 * time.Second
	// maxBackups is how many backups a place may have; the list of a hostile store has no end.
	maxBackups = 100_000
	// maxFiles is how many files a backup may have.
	maxFiles = 1_000_000
	// listTimeouts is how many times longer than another request a list may take, which is a request for every 1000
	// entries.
	listTimeouts = 10
	// maxAnswer is the maximum size in bytes of every answer but a file: more than a page with 1000 of the longest keys
	// has. What is decoded from it takes a hundred times as much memory.
	maxAnswer = 4 << 20
	// maxMessage is how many characters of an error message of a store are shown.
	maxMessage = 300
)

// errTooMany says that a store answers more than a place of backups can have.
var errTooMany = errors.New("not a place of backups")

// S3 is a place in a bucket of an S3-compatible store.
type S3 struct {
	client  *minio.Client
	bucket  string
	prefix  string        // ends with a slash, or is empty
	timeout time.Duration // of a request
	lists   time.Duration // the time-out of a list
	pause   time.Duration // before the second attempt
}

// OpenS3 returns a bucket as a place. It makes no request. The credentials are those of the variables
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or of the profile AWS_PROFILE in the file
// AWS_SHARED_CREDENTIALS_FILE, which is ~/.aws/credentials if that is not set.
func OpenS3(bucket Bucket) (*S3, error) {
	region := cmp.Or(bucket.Region, "us-east-1")
	host, secure, err := endpoint(cmp.Or(bucket.Endpoint, "https://s3."+region+".amazonaws.com"))
	if err != nil {
		return nil, err
	}
	roots, err := authorities(bucket.CA)
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(bucket.Timeout, DefaultTimeout)
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:    connectTimeout,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    uploads + 1,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
	}
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}}),
		// This package repeats requests itself, with their bodies.
		Secure: secure, Region: region, Transport: boundedTransport{transport}, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("--s3-endpoint: %w", err)
	}
	prefix := bucket.Prefix
	if prefix != "" {
		prefix += "/"
	}
	return &S3{client: client, bucket: bucket.Name, prefix: prefix, timeout: timeout, lists: listTimeouts * timeout,
		pause: s3Pause}, nil
}

// fileSize is the key of the context of a request for a file, whose value is how many bytes of it are read, as an
// int64.
type fileSize struct{}

// boundedTransport bounds what is read of every answer: the library decodes whole answers, and reads what is left of
// one before it is closed.
type boundedTransport struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	most, file := r.Context().Value(fileSize{}).(int64)
	if !file || response.StatusCode != http.StatusOK {
		most = maxAnswer
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: most}
	return response, nil
}

// boundedBody is a body of which a bounded number of bytes are read.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *boundedBody) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: an answer of the store is too long", errTooMany)
	}
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), b.left)])
	b.left -= int64(n)
	return n, err
}

// endpoint returns the host of an endpoint, and whether it is to be spoken to over TLS.
func endpoint(text string) (host string, secure bool, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.Trim(u.Path, "/") != "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", false, errors.New("--s3-endpoint: want https://HOST[:PORT], without a path or a user")
	}
	if u.Scheme == "http" {
		if address, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" &&
			(err != nil || !address.IsLoopback()) {
			return "", false,
				errors.New(
					"--s3-endpoint: a backup has all business data, so http:// is accepted only for an address of this machine: use https://, with --s3-ca for a certificate of your own authority")
		}
	}
	return u.Host, u.Scheme == "https", nil
}

// authorities returns the certificates of a file; nil, those of the system, if it has no name.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // crypto/tls takes nil for the system's
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--s3-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--s3-ca: %s has no certificate in PEM form", file)
	}
	return roots, nil
}

// String implements [Place].
func (s *S3) String() string { return "s3://" + path.Join(s.bucket, s.prefix) }

func (s *S3) key(backup, file string) string { return s.prefix + backup + "/" + file }

// Names implements [Place].
func (s *S3) Names(ctx context.Context) (found []string, err error) {
	err = s.list(ctx, s.prefix, maxBackups, func(object minio.ObjectInfo) {
		name, directory := strings.CutSuffix(strings.TrimPrefix(object.Key, s.prefix), "/")
		if directory && namePattern.MatchString(name) {
			found = append(found, name)
		}
	}, func() { found = nil })
	slices.Sort(found)
	return slices.Compact(found), err
}

// Files implements [Place].
func (s *S3) Files(ctx context.Context, backup string) (sizes map[string]int64, err error) {
	prefix := s.key(backup, "")
	sizes = map[string]int64{}
	err = s.list(ctx, prefix, maxFiles, func(object minio.ObjectInfo) {
		sizes[strings.TrimPrefix(object.Key, prefix)] = object.Size
	}, func() { clear(sizes) })
	return sizes, err
}

// list calls each with every entry directly below a prefix, and begin before it begins, again after a failure.
func (s *S3) list(ctx context.Context, prefix string, most int, each func(object minio.ObjectInfo),
	begin func()) error {
	return s.attempt(ctx, s.lists, func(ctx context.Context) error {
		begin()
		count := 0
		for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
			if object.Err != nil {
				return object.Err
			}
			if count++; count > most {
				return fmt.Errorf("%w: there are more than %d entries below %s", errTooMany, most, prefix)
			}
			each(object)
		}
		return ctx.Err()
	})
}

// Put implements [Place]. The store checks the digest of what it receives.
func (s *S3) Put(ctx context.Context, backup, file string, content []byte) error {
	return s.attempt(ctx, s.timeout, func(ctx context.Context) error {
		_, err := s.client.PutObject(ctx, s.bucket, s.key(backup, file), bytes.NewReader(content), int64(len(content)),
			minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true, SendContentMd5: true})
		return err
	})
}

// Get implements [Place].
func (s *S3) Get(ctx context.Context, backup, file string, most int64) (content []byte, err error) {
	ctx = context.WithValue(ctx, fileSize{}, most+1) // by which one that is too large is noticed
	err = s.attempt(ctx, s.timeout, func(ctx context.Context) error {
		// Core makes one request and returns its body; the object of a Client makes further ones after a failure.
		object, info, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.bucket, s.key(backup, file),
			minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer object.Close() //nolint:errcheck // the object was only read
		if content, err = readAtMost(object, file, most); err == nil && info.Size >= 0 && int64(len(content)) != info.Size {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	return content, err
}

// Remove implements [Place].
func (s *S3) Remove(ctx context.Context, backup string, files []string) error {
	for _, file := range files {
		if err := s.attempt(ctx, s.timeout, func(ctx context.Context) error {
			return s.client.RemoveObject(ctx, s.bucket, s.key(backup, file), minio.RemoveObjectOptions{})
		}); err != nil && !errors.Is(err, ErrMissing) {
			return err
		}
	}
	return nil
}

// attempt makes a request up to [s3Attempts] times, unless its error is final. It returns [ErrMissing] for an object
// that does not exist.
func (s *S3) attempt(ctx context.Context, timeout time.Duration, request func(ctx context.Context) error) error {
	pause := s.pause
	for n := 1; ; n++ {
		err := once(ctx, timeout, request)
		if err == nil || n == s3Attempts || isFinal(err) || ctx.Err() != nil {
			return explained(err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func once(ctx context.Context, timeout time.Duration, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return request(ctx)
}

// isFinal reports whether a request that failed with err would fail again.
func isFinal(err error) bool {
	if errors.Is(err, ErrDamaged) || errors.Is(err, errTooMany) || errors.Is(err, context.Canceled) {
		return true
	}
	if _, invalid := errors.AsType[*tls.CertificateVerificationError](err); invalid {
		return true
	}
	response, answered := errors.AsType[minio.ErrorResponse](err)
	if !answered {
		return false
	}
	switch response.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return response.StatusCode >= 400 && response.StatusCode < 500
}

// explained returns err as it is shown: the code and the status say what a store means whose message is empty. The
// message of a store is shown in part, and without what a terminal would obey.
func explained(err error) error {
	response, answered := errors.AsType[minio.ErrorResponse](err)
	if !answered {
		return err
	}
	response.Code, response.Message = shown(response.Code), shown(response.Message)
	if response.Code == minio.NoSuchKey || response.StatusCode == http.StatusNotFound &&
		response.Code != minio.NoSuchBucket {
		return fmt.Errorf("%w: %w", ErrMissing, response)
	}
	return fmt.Errorf("the store answered %d %s: %w", response.StatusCode, response.Code, response)
}

// shown returns the beginning of a text of the store, in one line.
func shown(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	return string(runes[:min(len(runes), maxMessage)])
}
