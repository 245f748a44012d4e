// Package zonalshift reads from which zones Amazon Application Recovery Controller (ARC) moves the cluster's traffic away.
//
// Only one operation of one service is needed, a GET without a body, so it is signed here with the SDK's signer and does
// not bring a whole client along.
package zonalshift

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	smithy "github.com/aws/smithy-go"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// service is the name that requests are signed for.
	service = "arc-zonal-shift"
	// callTimeout bounds one question, maxAnswer its answer in bytes.
	callTimeout = 15 * time.Second
	maxAnswer   = 1 << 20
	// endpointEnv is where the SDK's clients look for an endpoint of this service alone.
	endpointEnv = "AWS_ENDPOINT_URL_ARC_ZONAL_SHIFT"
)

// ReasonNotRegistered is why a cluster's shifts can't be read: ARC does not know it.
const ReasonNotRegistered = "ZonalShiftNotRegistered"

// Shift is traffic that is moved away from a zone.
type Shift struct {
	// ZoneID is that of the zone, such as use1-az1.
	ZoneID string
	// Until is when it ends by itself; zero for one that AWS began and will end.
	Until time.Time
	// Automatic is true for one that AWS began.
	Automatic bool
}

// Reader reads the shifts of one resource.
type Reader struct {
	config aws.Config
	url    string
	now    func() time.Time
}

// NewReader makes a reader for a region. It calls nothing.
func NewReader(config aws.Config, now func() time.Time) *Reader {
	base := cmp.Or(os.Getenv(endpointEnv), aws.ToString(config.BaseEndpoint), "https://"+service+"."+config.Region+"."+partition.Of(config.Region).Suffix)
	return &Reader{config: config, url: strings.TrimSuffix(base, "/"), now: now}
}

// managed is the answer to GetManagedResource, as far as it is of use.
//
// Source: ARC Zonal Shift API Reference, GetManagedResource, checked 2026-11.
type managed struct {
	ZonalShifts []struct {
		AppliedStatus string  `json:"appliedStatus"`
		AwayFrom      string  `json:"awayFrom"`
		ExpiryTime    float64 `json:"expiryTime"` // seconds since 1970
	} `json:"zonalShifts"`
	Autoshifts []struct {
		AppliedStatus string `json:"appliedStatus"`
		AwayFrom      string `json:"awayFrom"`
	} `json:"autoshifts"`
}

// applied is the status of a shift that is in effect; another one of the same resource may have precedence.
const applied = "APPLIED"

// Read returns the shifts of the resource with an ARN that are in effect, by zone.
//
// Errors: *cloud.Error; ReasonNotRegistered and class NotFound when ARC does not know the resource.
func (r *Reader) Read(ctx context.Context, arn string) ([]Shift, error) {
	op := "reading the zonal shifts of " + arn
	body, err := r.get(ctx, arn)
	if err != nil {
		err = awserr.Wrap(op, err)
		if e, ok := errors.AsType[*cloud.Error](err); ok && e.Class == cloud.NotFound {
			e.Reason = ReasonNotRegistered
		}
		return nil, err
	}
	var m managed
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, &cloud.Error{Op: op, Class: cloud.Unavailable, Err: fmt.Errorf("the answer can't be read: %w", err)}
	}
	return m.shifts(r.now()), nil
}

func (m *managed) shifts(now time.Time) []Shift {
	byZone := map[string]Shift{}
	for _, s := range m.ZonalShifts {
		until := time.UnixMilli(int64(s.ExpiryTime * 1000)).UTC()
		if s.AwayFrom != "" && s.AppliedStatus == applied && until.After(now) && until.After(byZone[s.AwayFrom].Until) {
			byZone[s.AwayFrom] = Shift{ZoneID: s.AwayFrom, Until: until}
		}
	}
	for _, s := range m.Autoshifts {
		if s.AwayFrom != "" && s.AppliedStatus == applied {
			byZone[s.AwayFrom] = Shift{ZoneID: s.AwayFrom, Automatic: true}
		}
	}
	out := make([]Shift, 0, len(byZone))
	for _, s := range byZone {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Shift) int { return strings.Compare(a.ZoneID, b.ZoneID) })
	return out
}

// emptyHash is the SHA-256 of no body.
var emptyHash = func() string { h := sha256.Sum256(nil); return hex.EncodeToString(h[:]) }()

func (r *Reader) get(ctx context.Context, arn string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/managedresources/"+url.QueryEscape(arn), nil)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	credentials, err := r.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("get credentials: %w", err)
	}
	if err := v4.NewSigner().SignHTTP(ctx, credentials, req, emptyHash, service, r.config.Region, r.now()); err != nil {
		return nil, fmt.Errorf("signing the request: %w", err)
	}
	resp, err := r.config.HTTPClient.Do(req)
	if err != nil {
		return nil, &smithy.OperationError{ServiceID: service, OperationName: "GetManagedResource", Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		err = fmt.Errorf("reading the answer: %w", err)
	case resp.StatusCode != http.StatusOK:
		err = refusal(resp, body)
	default:
		return body, nil
	}
	return nil, &smithy.OperationError{ServiceID: service, OperationName: "GetManagedResource", Err: err}
}

// refusal is the error of an answer: its code is in a header or in the body, perhaps with a namespace before it and a
// link behind it.
func refusal(resp *http.Response, body []byte) error {
	var said struct {
		Code, Type, Message string
		Kind                string `json:"__type"`
	}
	_ = json.Unmarshal(body, &said) // what can't be read is shown as it is
	code := cmp.Or(resp.Header.Get("X-Amzn-Errortype"), said.Kind, said.Code, said.Type, resp.Status)
	code, _, _ = strings.Cut(code, ":")
	fault := smithy.FaultClient
	if resp.StatusCode >= http.StatusInternalServerError {
		fault = smithy.FaultServer
	}
	return &smithy.GenericAPIError{Code: code[strings.LastIndexByte(code, '#')+1:], Message: cmp.Or(said.Message, strings.TrimSpace(string(body))), Fault: fault}
}
