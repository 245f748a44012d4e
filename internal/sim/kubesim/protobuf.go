package kubesim

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// The wire form of built-in kinds that clients prefer: Kubernetes' envelope around a protobuf message. A client that does
// not ask for it gets JSON, and so does everybody for custom resources, as from a real API server.

// envelope is how every message begins.
var envelope = []byte{'k', '8', 's', 0}

var messages = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// message is a kind that has a protobuf form.
type message interface {
	runtime.Object
	Marshal() ([]byte, error)
}

// asksProtobuf reports whether the client wants protobuf, and can have it: partial objects are JSON.
func (t target) asksProtobuf(r *http.Request) bool {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	return t.resource.protobuf && strings.TrimSpace(first) == runtime.ContentTypeProtobuf
}

// wrap puts a message into its envelope.
func wrap(apiVersion, kind string, raw []byte) []byte {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	out := make([]byte, len(envelope)+unknown.Size())
	copy(out, envelope)
	if _, err := unknown.MarshalTo(out[len(envelope):]); err != nil {
		panic(err) // it has the size that it asked for
	}
	return out
}

// message is the object in protobuf, without its envelope. It is made once.
func (o *object) message(r *resource) []byte {
	o.once.message.Do(func() {
		typed, _ := r.typed().(message)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.content, typed); err != nil {
			panic(fmt.Sprintf("%s %s is stored and is no %s: %v", r.kind, o.at().GetName(), r.kind, err))
		}
		raw, err := typed.Marshal()
		if err != nil {
			panic(fmt.Sprintf("encode %s %s: %v", r.kind, o.at().GetName(), err))
		}
		o.inProtobuf = raw
	})
	return o.inProtobuf
}

// listMessage is a list in protobuf: field 1 is its metadata, field 2 an item, in every list of Kubernetes.
func listMessage(r *resource, meta metav1.ListMeta, found []*object) ([]byte, error) {
	head, err := meta.Marshal()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	size := len(head) + 8
	for _, o := range found {
		size += len(o.message(r)) + 8
	}
	const metadata, items, bytes = 1, 2, 2
	b := make([]byte, 0, size)
	b = append(binary.AppendUvarint(append(b, metadata<<3|bytes), uint64(len(head))), head...)
	for _, o := range found {
		raw := o.message(r)
		b = append(binary.AppendUvarint(append(b, items<<3|bytes), uint64(len(raw))), raw...)
	}
	return wrap(r.apiVersion(), r.kind+"List", b), nil
}

// frame is a watch event in protobuf, with its length before it.
func frame(kind watch.EventType, object []byte) []byte {
	event := metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object}}
	out := make([]byte, 4+event.Size())
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	if _, err := event.MarshalTo(out[4:]); err != nil {
		panic(err) // it has the size that it asked for
	}
	return out
}

// readMessage reads an object in protobuf. It is as normal as can be: fields that nobody knows are gone.
func readMessage(b []byte) (runtime.Object, error) {
	o, kind, err := messages.Decode(b, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest("protobuf parse error: " + err.Error())
	}
	o.GetObjectKind().SetGroupVersionKind(*kind)
	return o, nil
}
