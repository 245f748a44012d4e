package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// rpcPath splits the path of a request of the CBOR protocol, /service/NAME/operation/OPERATION.
func rpcPath(path string) (service *Service, operation string, ok bool) {
	name, operation, ok := strings.Cut(strings.TrimPrefix(path, "/service/"), "/operation/")
	if !ok || strings.Contains(operation, "/") {
		return nil, "", false
	}
	for _, svc := range services() {
		if svc.Protocol == RPCCBOR && svc.Target == name {
			return svc, operation, true
		}
	}
	return nil, "", false
}

// resolveRPC fills in the input of a request of the CBOR protocol, as JSON.
func resolveRPC(hr *http.Request, r *Request, operation string, body []byte) error {
	r.Operation = operation
	if hr.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = inflate(body, r.Service.MaxBody); err != nil {
			return Errorf("SerializationException", "the body cannot be inflated: %v", err)
		}
	}
	if len(body) == 0 {
		return nil
	}
	v, err := decodeCBOR(body)
	if err != nil {
		return Errorf("SerializationException", "%v", err)
	}
	if r.JSON, err = json.Marshal(v); err != nil {
		return Errorf("SerializationException", "the body of %s has a value that cannot be used: %v", operation, err)
	}
	return nil
}

func inflate(body []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return out, err
}

const cborType = "application/cbor"

func rpcHeader() http.Header { return http.Header{"Smithy-Protocol": {"rpc-v2-cbor"}} }

func encodeRPCResult(v any) (answer, error) {
	body, err := encodeCBOR(v)
	return answer{status: http.StatusOK, contentType: cborType, header: rpcHeader(), body: body}, err
}

// encodeRPCError also sends the code in the header in which the older query protocol has it.
func encodeRPCError(e *Error) answer {
	a := answer{status: e.status(), contentType: cborType, header: rpcHeader()}
	blame := "Sender"
	if e.status() >= http.StatusInternalServerError {
		blame = "Receiver"
	}
	a.header.Set("X-Amzn-Query-Error", e.Code+";"+blame)
	a.body = putHead(nil, cborMap, 2)
	a.body = putText(putText(a.body, "__type"), e.Code)
	a.body = putText(putText(a.body, "message"), e.Message)
	return a
}
