package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm   = "AWS4-HMAC-SHA256"
	amzTime     = "20060102T150405Z"
	allowedSkew = 5 * time.Minute
	terminator  = "aws4_request"
)

// signature holds the parts of a SigV4 authorisation, taken from the header or, for presigned requests, from
// the query string.
type signature struct {
	keyID, date, region, service string
	signedHeaders                []string
	value                        string
	time                         time.Time
	token                        string
	presigned                    bool
	expires                      time.Duration
}

func (s signature) scope() string {
	return strings.Join([]string{s.date, s.region, s.service, terminator}, "/")
}

// signatureError carries the kind of problem until the service is known that words it.
type signatureError struct {
	problem authProblem
	detail  string
}

func (e *signatureError) Error() string { return e.detail }

func malformed(format string, args ...any) *signatureError {
	return &signatureError{authMalformed, fmt.Sprintf(format, args...)}
}

// parseSignature reads the authorisation of a request without judging it.
func parseSignature(r *http.Request) (signature, *signatureError) {
	query := r.URL.Query()
	if query.Has("X-Amz-Signature") {
		return parsePresigned(query)
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return signature{}, &signatureError{authMissing, "no Authorization header"}
	}
	rest, ok := strings.CutPrefix(header, algorithm)
	if !ok {
		return signature{}, malformed("the Authorization header must begin with %s", algorithm)
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		if k, v, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
			fields[k] = v
		}
	}
	for _, k := range []string{"Credential", "SignedHeaders", "Signature"} {
		if fields[k] == "" {
			return signature{}, malformed("the Authorization header needs a %q parameter", k)
		}
	}
	s := signature{
		value:         fields["Signature"],
		signedHeaders: strings.Split(fields["SignedHeaders"], ";"),
		token:         r.Header.Get("X-Amz-Security-Token"),
	}
	return s.withScope(fields["Credential"], r.Header.Get("X-Amz-Date"))
}

func parsePresigned(query url.Values) (signature, *signatureError) {
	if query.Get("X-Amz-Algorithm") != algorithm {
		return signature{}, malformed("X-Amz-Algorithm must be %s", algorithm)
	}
	seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
	if err != nil || seconds < 0 || seconds > 7*24*3600 {
		return signature{}, malformed("X-Amz-Expires must be a number of seconds up to a week")
	}
	s := signature{
		value:         query.Get("X-Amz-Signature"),
		signedHeaders: strings.Split(query.Get("X-Amz-SignedHeaders"), ";"),
		token:         query.Get("X-Amz-Security-Token"),
		presigned:     true,
		expires:       time.Duration(seconds) * time.Second,
	}
	return s.withScope(query.Get("X-Amz-Credential"), query.Get("X-Amz-Date"))
}

func (s signature) withScope(credential, date string) (signature, *signatureError) {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[4] != terminator {
		return s, malformed("Credential must be key/date/region/service/%s, got %q", terminator, credential)
	}
	s.keyID, s.date, s.region, s.service = parts[0], parts[1], parts[2], parts[3]
	t, err := time.Parse(amzTime, date)
	if err != nil {
		return s, malformed("the request time must be in X-Amz-Date as %s, got %q", amzTime, date)
	}
	s.time = t
	if t.Format("20060102") != s.date {
		return s, &signatureError{authMismatch, fmt.Sprintf("the date in the credential scope, %s, is not that of X-Amz-Date, %s", s.date, date)}
	}
	return s, nil
}

// verify checks the signature against what the holder of the key would have sent.
func (s signature) verify(r *http.Request, body []byte, id Identity, now time.Time) *signatureError {
	if err := s.checkTime(now); err != nil {
		return err
	}
	if id.SessionToken != "" && subtle.ConstantTimeCompare([]byte(id.SessionToken), []byte(s.token)) != 1 {
		return &signatureError{authUnknownKey, "the session token is not the one of this key"}
	}
	if !id.Expires.IsZero() && now.After(id.Expires) {
		return &signatureError{authExpiredToken, "the credentials have expired"}
	}
	if !slices.Contains(s.signedHeaders, "host") {
		return &signatureError{authMismatch, "'Host' must be a 'SignedHeader' in the AWS Authorization."}
	}
	payload, err := s.payloadHash(r, body)
	if err != nil {
		return err
	}
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r.URL), canonicalQuery(r.URL.Query()), s.canonicalHeaders(r, len(body)),
		strings.Join(s.signedHeaders, ";"), payload,
	}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	toSign := strings.Join([]string{algorithm, s.time.Format(amzTime), s.scope(), hex.EncodeToString(sum[:])}, "\n")
	want := hex.EncodeToString(mac(signingKey(id.Secret, s), toSign))
	if subtle.ConstantTimeCompare([]byte(want), []byte(s.value)) != 1 {
		return &signatureError{authMismatch, "The request signature we calculated does not match the signature you provided. " +
			"Check your AWS Secret Access Key and signing method."}
	}
	return nil
}

func (s signature) checkTime(now time.Time) *signatureError {
	if s.presigned {
		if now.After(s.time.Add(s.expires)) || s.time.After(now.Add(allowedSkew)) {
			return &signatureError{authSkewed, "Signature expired: the presigned request is outside its time."}
		}
		return nil
	}
	if d := now.Sub(s.time); d > allowedSkew {
		return &signatureError{authSkewed, fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - 5 min.)",
			s.time.Format(amzTime), now.UTC().Add(-allowedSkew).Format(amzTime), now.UTC().Format(amzTime))}
	} else if d < -allowedSkew {
		return &signatureError{authSkewed, fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 5 min.)",
			s.time.Format(amzTime), now.UTC().Add(allowedSkew).Format(amzTime), now.UTC().Format(amzTime))}
	}
	return nil
}

func (s signature) payloadHash(r *http.Request, body []byte) (string, *signatureError) {
	sum := sha256.Sum256(body)
	actual := hex.EncodeToString(sum[:])
	switch sent := r.Header.Get("X-Amz-Content-Sha256"); sent {
	case "", actual:
		return actual, nil
	case "UNSIGNED-PAYLOAD":
		return sent, nil
	default:
		return "", &signatureError{authMismatch, "X-Amz-Content-Sha256 is not the hash of the body that arrived."}
	}
}

func (s signature) canonicalHeaders(r *http.Request, bodyLen int) string {
	var b strings.Builder
	for _, name := range s.signedHeaders {
		b.WriteString(name)
		b.WriteByte(':')
		switch name {
		case "host":
			b.WriteString(r.Host)
		case "content-length":
			b.WriteString(strconv.Itoa(bodyLen))
		default:
			for i, v := range r.Header.Values(name) {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(strings.Join(strings.Fields(v), " "))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// canonicalPath escapes the path as sent once more, as every service but S3 wants.
func canonicalPath(u *url.URL) string {
	p := u.EscapedPath()
	if p == "" {
		p = "/"
	}
	var b strings.Builder
	for i := range len(p) {
		if c := p[i]; unreserved(c) || c == '/' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func canonicalQuery(query url.Values) string {
	query = url.Values(http.Header(query).Clone())
	query.Del("X-Amz-Signature")
	for _, v := range query {
		slices.Sort(v)
	}
	return strings.ReplaceAll(query.Encode(), "+", "%20")
}

func signingKey(secret string, s signature) []byte {
	k := mac([]byte("AWS4"+secret), s.date)
	k = mac(k, s.region)
	k = mac(k, s.service)
	return mac(k, terminator)
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
