package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
)

const xmlHeader = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// answer is an encoded reply, ready to be sent.
type answer struct {
	status      int
	contentType string
	header      http.Header
	body        []byte
}

// encodeResult puts a handler's value into the service's success envelope.
func encodeResult(r *Request, v any) (answer, error) {
	switch r.Service.Protocol {
	case EC2Query:
		body, err := xmlElement(v, r.Operation+"Response", r.Service.Namespace, "<requestId>"+r.ID+"</requestId>")
		return answer{status: http.StatusOK, contentType: "text/xml;charset=UTF-8", body: append([]byte(xmlHeader), body...)}, err
	case Query:
		inner, err := xmlElement(v, r.Operation+"Result", "", "")
		if err != nil {
			return answer{}, err
		}
		body := fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s">%[3]s<ResponseMetadata><RequestId>%[4]s</RequestId></ResponseMetadata></%[1]sResponse>`,
			r.Operation, r.Service.Namespace, inner, r.ID)
		return answer{status: http.StatusOK, contentType: "text/xml", body: []byte(body)}, nil
	case RPCCBOR:
		return encodeRPCResult(v)
	default:
		a := answer{status: http.StatusOK, contentType: jsonType(r.Service)}
		if v == nil {
			if r.Service.Protocol != JSON10 {
				a.body = []byte("{}")
			}
			return a, nil
		}
		var err error
		a.body, err = json.Marshal(v)
		return a, err
	}
}

func jsonType(s *Service) string {
	switch s.Protocol {
	case JSON10:
		return "application/x-amz-json-1.0"
	case JSON11:
		return "application/x-amz-json-1.1"
	default:
		return "application/json"
	}
}

// xmlElement encodes v as an element of the given name, with head as its first content.
func xmlElement(v any, name, namespace, head string) ([]byte, error) {
	open := "<" + name + ">"
	if namespace != "" {
		open = fmt.Sprintf(`<%s xmlns="%s">`, name, namespace)
	}
	var content []byte
	if v != nil {
		var b bytes.Buffer
		enc := xml.NewEncoder(&b)
		if err := enc.EncodeElement(v, xml.StartElement{Name: xml.Name{Local: name}}); err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		content = bytes.TrimSuffix(bytes.TrimPrefix(b.Bytes(), []byte("<"+name+">")), []byte("</"+name+">"))
	}
	out := make([]byte, 0, len(open)+len(head)+len(content)+len(name)+3)
	out = append(out, open...)
	out = append(out, head...)
	out = append(out, content...)
	out = append(out, "</"+name+">"...)
	return out, nil
}

// encodeError puts an error into the service's error envelope.
func encodeError(s *Service, requestID string, e *Error) answer {
	switch s.Protocol {
	case EC2Query:
		return answer{status: e.status(), contentType: "text/xml;charset=UTF-8", body: []byte(xmlHeader +
			"<Response><Errors><Error><Code>" + escape(e.Code) + "</Code><Message>" + escape(e.Message) +
			"</Message></Error></Errors><RequestID>" + requestID + "</RequestID></Response>")}
	case Query:
		blame := "Sender"
		if e.status() >= http.StatusInternalServerError {
			blame = "Receiver"
		}
		return answer{status: e.status(), contentType: "text/xml", body: []byte(
			`<ErrorResponse xmlns="` + s.Namespace + `"><Error><Type>` + blame + "</Type><Code>" + escape(e.Code) +
				"</Code><Message>" + escape(e.Message) + "</Message></Error><RequestId>" + requestID + "</RequestId></ErrorResponse>")}
	case RPCCBOR:
		return encodeRPCError(e)
	default:
		return encodeJSONError(s, e)
	}
}

func encodeJSONError(s *Service, e *Error) answer {
	a := answer{status: e.status(), contentType: jsonType(s), header: http.Header{}}
	members := map[string]any{"message": e.Message}
	for k, v := range e.Fields {
		members[k] = v
	}
	switch {
	case s.Protocol == RESTJSON:
		a.header.Set("X-Amzn-ErrorType", e.Code)
	case s == SQS:
		members["__type"] = "com.amazonaws.sqs#" + e.Code
		code := e.QueryCode
		if code == "" {
			code = e.Code
		}
		blame := "Sender"
		if e.status() >= http.StatusInternalServerError {
			blame = "Receiver"
		}
		a.header.Set("X-Amzn-Query-Error", code+";"+blame)
	default:
		members["__type"] = e.Code
	}
	body, err := json.Marshal(members)
	if err != nil { // a field that a handler gave cannot be encoded: say at least what went wrong
		body, _ = json.Marshal(map[string]any{"__type": e.Code, "message": e.Message})
	}
	a.body = body
	return a
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writing to a buffer cannot fail
	return b.String()
}
