// Package wire speaks the protocols of the AWS services over HTTP: it finds out which operation of which
// service a request is for, verifies its signature, asks whether the caller may, lets faults happen, calls the
// handler and writes the answer or the error in that service's own envelope. What the operations do is not
// its business.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Protocol is one of the request and answer formats AWS services use.
type Protocol int

// The protocols spoken here.
const (
	EC2Query Protocol = iota // form in, XML out, members directly under <OpResponse>
	Query                    // form in, XML out, members under <OpResponse><OpResult>
	JSON10                   // X-Amz-Target, application/x-amz-json-1.0
	JSON11                   // X-Amz-Target, application/x-amz-json-1.1
	RESTJSON                 // method and path, application/json
	RPCCBOR                  // service and operation in the path, application/cbor
)

// Service says how a service is addressed and how it answers.
type Service struct {
	Name      string // signing name and IAM action prefix: ec2
	Protocol  Protocol
	Version   string // API version, which tells query services apart
	Target    string // X-Amz-Target prefix without the dot; RPCCBOR: name of the service in paths
	Namespace string // xmlns of answers
	Regional  bool   // refuses credentials that are scoped to another region
	MaxBody   int64  // bytes of request body that are read
}

const mebibyte = 1 << 20

// The services that can be registered.
var (
	EC2 = &Service{Name: "ec2", Protocol: EC2Query, Version: "2016-11-15",
		Namespace: "http://ec2.amazonaws.com/doc/2016-11-15/", Regional: true, MaxBody: mebibyte}
	IAM = &Service{Name: "iam", Protocol: Query, Version: "2010-05-08",
		Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", MaxBody: mebibyte}
	STS = &Service{Name: "sts", Protocol: Query, Version: "2011-06-15",
		Namespace: "https://sts.amazonaws.com/doc/2011-06-15/", MaxBody: mebibyte}
	SQS     = &Service{Name: "sqs", Protocol: JSON10, Target: "AmazonSQS", Regional: true, MaxBody: 4 * mebibyte}
	SSM     = &Service{Name: "ssm", Protocol: JSON11, Target: "AmazonSSM", Regional: true, MaxBody: mebibyte}
	Pricing = &Service{Name: "pricing", Protocol: JSON11, Target: "AWSPriceListService", MaxBody: mebibyte}
	EKS     = &Service{Name: "eks", Protocol: RESTJSON, Regional: true, MaxBody: mebibyte}
	// ARCZonalShift is the zonal shift of Amazon Application Recovery Controller.
	ARCZonalShift = &Service{Name: "arc-zonal-shift", Protocol: RESTJSON, Regional: true, MaxBody: mebibyte}
	// CloudFormation is the stacks of the account.
	CloudFormation = &Service{Name: "cloudformation", Protocol: Query, Version: "2010-05-15",
		Namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/", Regional: true, MaxBody: mebibyte}
	Events = &Service{Name: "events", Protocol: JSON11, Target: "AWSEvents", Regional: true, MaxBody: 2 * mebibyte}
	KMS    = &Service{Name: "kms", Protocol: JSON11, Target: "TrentService", Regional: true, MaxBody: mebibyte}
	// CloudWatch signs as monitoring, its actions are named cloudwatch:….
	CloudWatch = &Service{Name: "monitoring", Protocol: RPCCBOR, Target: "GraniteServiceVersion20100801", Regional: true, MaxBody: 2 * mebibyte}
)

func services() []*Service {
	return []*Service{EC2, IAM, STS, SQS, SSM, Pricing, EKS, CloudFormation, Events, KMS, CloudWatch, ARCZonalShift}
}

// Identity is who holds an access key.
type Identity struct {
	AccessKeyID  string
	Secret       string
	SessionToken string    // empty for long-lived keys
	Expires      time.Time // zero for long-lived keys
	Account      string    // twelve digits
	PrincipalARN string    // arn:aws:iam::…:role/… or arn:aws:sts::…:assumed-role/…
	PrincipalID  string    // AIDA… or AROA…:session
}

// Request is one authenticated call of one operation.
type Request struct {
	ID        string
	Service   *Service
	Operation string
	Form      url.Values        // query protocols; never nil
	JSON      []byte            // JSON protocols: the body
	Path      map[string]string // REST protocols: the wildcards of the route
	Query     url.Values        // REST protocols: the query string
	Header    http.Header
	Host      string
	Principal Identity
	Region    string // that the credentials are scoped to
	TLS       bool   // the connection is encrypted
	Remote    string // address of the caller, without port
	Size      int    // bytes of request body
	Received  time.Time

	// Input and Detail may be set by the handler for the log: the decoded input, and a few words about what came of it.
	Input  any
	Detail string

	// Refused holds the parts of the call that the caller may not do, by names that authorizer and handler agree on (for a
	// fleet world.LaunchKey). The handler does the rest of the call and says of these what is here.
	Refused map[string]*Error

	read       time.Time // when the last byte of the body was read
	fault      string
	dropReply  bool
	authorizer Authorizer
}

// Action is the operation as IAM policies name it: ec2:DescribeInstances.
func (r *Request) Action() string { return r.Service.Name + ":" + r.Operation }

// DryRun tells whether the caller asked only for the permission check.
func (r *Request) DryRun() bool { return r.Form.Get("DryRun") == "true" }

// Values returns every plain value in the input, sorted: form parameters, members of the JSON body and of its lists,
// and wildcards of the path. Fault patterns look for names of resources among them.
func (r *Request) Values() []string {
	seen := map[string]bool{}
	for k, v := range r.Form {
		if k != "Action" && k != "Version" {
			for _, s := range v {
				seen[s] = true
			}
		}
	}
	for _, v := range r.Path {
		seen[v] = true
	}
	var members map[string]any
	if json.Unmarshal(r.JSON, &members) == nil {
		for _, v := range members {
			collect(v, seen)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func collect(v any, into map[string]bool) {
	switch v := v.(type) {
	case string:
		into[v] = true
	case []any:
		for _, e := range v {
			collect(e, into)
		}
	}
}

// Authorize asks whether the caller may also do another action, such as iam:PassRole, as part of this one. The
// error, when there is one, is the answer to give.
func (r *Request) Authorize(action string) error {
	if r.authorizer == nil {
		return nil
	}
	if err := r.authorizer.Authorize(r.Principal, action, r); err != nil {
		return denied(r, err)
	}
	return nil
}

// Decode reads the JSON body into v. A member that v has no field for is refused by name rather than ignored, so that a
// caller never believes in a setting that has no effect here. The error is for the caller.
func (r *Request) Decode(v any) error {
	if len(r.JSON) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(r.JSON))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("something follows the JSON value")
	}
	if err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return Errorf("UnknownParameter", "The parameter %s of %s is not recognized by the simulator", strings.Trim(name, `"`), r.Operation)
		}
		return &Error{Code: "SerializationException", Status: http.StatusBadRequest,
			Message: fmt.Sprintf("the body of %s is not what the operation takes: %v", r.Operation, err)}
	}
	return nil
}

// Handler does one operation. The value it returns is put into the service's envelope: for the query protocols
// by encoding/xml with the members' own tags, for the JSON protocols by encoding/json; nil is an empty answer.
// An *Error keeps its code and status; any other error is translated by Options.Errors or else becomes the
// service's internal failure.
type Handler func(ctx context.Context, r *Request) (any, error)

// Authorizer decides whether a principal may do an action: the operation itself, or another one that its handler asks
// about (Request.Authorize). A nil error allows. An *Error is answered as it is, any other error becomes the service's
// denial with the error's text. It may set Request.Detail and, for operations that can be done in part, Request.Refused.
type Authorizer interface {
	Authorize(principal Identity, action string, r *Request) error
}

// Keys finds the holder of an access key id.
type Keys interface {
	Identity(accessKeyID string) (Identity, bool)
}

// Faults lets things go wrong.
type Faults interface {
	// Intercept is asked once the caller is known and before anything is done. It may take its time, within ctx, to
	// make the answer slow.
	Intercept(ctx context.Context, r *Request) Interception
}

// Interception is what befalls a request.
type Interception struct {
	Err       error  // answered instead of acting
	DropReply bool   // act, then close the connection without an answer
	Note      string // names the fault in the log
}

// Call is the log entry of one request.
type Call struct {
	Time          time.Time     `json:"time"`
	RequestID     string        `json:"requestId"`
	Service       string        `json:"service"`
	Operation     string        `json:"operation"`
	Principal     string        `json:"principal,omitempty"`
	DryRun        bool          `json:"dryRun,omitempty"`
	UserAgent     string        `json:"userAgent,omitempty"`
	Fault         string        `json:"fault,omitempty"`  // Interception.Note
	Detail        string        `json:"detail,omitempty"` // Request.Detail
	Input         any           `json:"-"`                // Request.Input
	Status        int           `json:"status"`           // HTTP status, 0 when no reply was sent
	ErrorCode     string        `json:"errorCode,omitempty"`
	Duration      time.Duration `json:"durationNanoseconds"`
	RequestBytes  int           `json:"requestBytes"`
	ResponseBytes int           `json:"responseBytes"`
}

// Recorder keeps the log of calls.
type Recorder interface {
	Record(Call)
}
