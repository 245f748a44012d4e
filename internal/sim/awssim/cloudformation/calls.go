package cloudformation

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// calls are made to the other services on behalf of who called CloudFormation.
type calls struct {
	ctx    context.Context
	server *wire.Server
	caller wire.Identity
}

// query calls an operation of a query service; out, if not nil, is decoded from the operation's result.
func (c calls) query(service *wire.Service, operation string, in form, out any) error {
	body, err := c.server.Do(c.ctx, c.caller, service, operation, wire.Input{Form: url.Values(in)})
	if err != nil {
		return &callError{service.Name, err}
	}
	if out == nil {
		return nil
	}
	if service.Protocol == wire.EC2Query {
		err = xml.Unmarshal(body, out)
	} else {
		err = result(body, operation+"Result", out)
	}
	if err != nil {
		return fmt.Errorf("read the answer of %s:%s: %w", service.Name, operation, err)
	}
	return nil
}

// result decodes the element of a name within an answer.
func result(body []byte, name string, out any) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == name {
			return d.DecodeElement(out, &start)
		}
	}
}

// json calls an operation of a JSON service.
func (c calls) json(service *wire.Service, operation string, in map[string]any, out any) error {
	return c.rest(service, operation, nil, in, out)
}

// rest calls an operation of a REST service; path holds the wildcards.
func (c calls) rest(service *wire.Service, operation string, path map[string]string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write the request %s:%s: %w", service.Name, operation, err)
	}
	body, err = c.server.Do(c.ctx, c.caller, service, operation, wire.Input{JSON: body, Path: path, Query: url.Values{}})
	if err != nil {
		return &callError{service.Name, err}
	}
	if out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("read the answer of %s:%s: %w", service.Name, operation, err)
	}
	return nil
}

// callError is the refusal of another service, worded as resource handlers word it.
type callError struct {
	service string
	err     error
}

func (e *callError) Unwrap() error { return e.err }

func (e *callError) Error() string {
	w, ok := errors.AsType[*wire.Error](e.err)
	if !ok {
		return e.err.Error()
	}
	status := w.Status
	if status == 0 {
		status = 400
	}
	return fmt.Sprintf("%s (Service: %s, Status Code: %d, Error Code: %s)", w.Message, title(e.service), status, w.Code)
}

func title(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// codeOf is the error code of a refusal, empty for other errors.
func codeOf(err error) string {
	if w, ok := errors.AsType[*wire.Error](err); ok {
		return w.Code
	}
	return ""
}

// missing are the codes by which services say that something is not there.
var missing = map[string]bool{
	"NoSuchEntity": true, "QueueDoesNotExist": true, "AWS.SimpleQueueService.NonExistentQueue": true,
	"ResourceNotFoundException": true, "NotFoundException": true, "ResourceNotFound": true, "ParameterNotFound": true,
	"InvalidLaunchTemplateId.NotFound": true, "InvalidGroup.NotFound": true,
}

// unlessMissing drops the error that says that what was to be removed is not there.
func unlessMissing(err error) error {
	if missing[codeOf(err)] {
		return nil
	}
	return err
}

// form holds the parameters of a query request.
type form url.Values

func fields(pairs ...string) form {
	f := form{}
	for i := 0; i+1 < len(pairs); i += 2 {
		f[pairs[i]] = []string{pairs[i+1]}
	}
	return f
}

// set adds a parameter if the property has a value.
func (f form) set(key string, v any) form {
	if s, ok := cfn.TextOf(v); ok {
		f[key] = []string{s}
	}
	return f
}

// tags adds a list of tags: prefix.1.Key and so on.
func (f form) tags(prefix string, tags []tag) form {
	for i, t := range tags {
		f[prefix+"."+strconv.Itoa(i+1)+".Key"] = []string{t.key}
		f[prefix+"."+strconv.Itoa(i+1)+".Value"] = []string{t.value}
	}
	return f
}

// list adds prefix.1, prefix.2 and so on.
func (f form) list(prefix string, values []string) form {
	for i, v := range values {
		f[prefix+"."+strconv.Itoa(i+1)] = []string{v}
	}
	return f
}

// document is a policy or another JSON value as the text that services take: properties have it as a map or as text.
func document(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil { // the values of a template are all of kinds that can be encoded
		return ""
	}
	return string(b)
}
