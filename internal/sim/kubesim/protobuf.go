package kubesim

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"reflect"
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
		encode := wholeMessage
		if r.parted {
			encode = o.partedMessage
		}
		var err error
		if o.inProtobuf, err = encode(r, o.content); err != nil {
			panic(fmt.Sprintf("%s %s is stored and can't be encoded: %v", r.kind, o.at().GetName(), err))
		}
	})
	return o.inProtobuf
}

func wholeMessage(r *resource, c content) ([]byte, error) {
	typed, _ := r.typed().(message)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c, typed); err != nil {
		return nil, err
	}
	return typed.Marshal()
}

// parts are the encoded metadata, spec and status of an object. An update of one leaves the next version with the others.
type parts [3]struct {
	of  any
	raw []byte
}

var partNames = [len(parts{})]struct{ json, field string }{{"metadata", "ObjectMeta"}, {"spec", "Spec"}, {"status", "Status"}}

// inParts tells whether all that a kind has is metadata, a spec and a status, which are fields 1 to 3 of its message.
func inParts(typed any) bool {
	if typed == nil {
		return false
	}
	of := reflect.TypeOf(typed).Elem()
	for i, name := range partNames {
		f, ok := of.FieldByName(name.field)
		if !ok || f.Type.Kind() != reflect.Struct || !strings.HasPrefix(f.Tag.Get("protobuf"), fmt.Sprintf("bytes,%d,", i+1)) {
			return false
		}
	}
	return of.NumField() == len(partNames)+1
}

// partedMessage encodes what the version before does not share.
func (o *object) partedMessage(r *resource, c content) ([]byte, error) {
	var now parts
	fresh, size := content{}, 0
	for i, name := range partNames {
		if now[i].of = c[name.json]; o.before != nil && shared(o.before[i].of, now[i].of) {
			now[i].raw = o.before[i].raw
		} else {
			fresh[name.json] = now[i].of
		}
	}
	typed := r.typed()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fresh, typed); err != nil {
		return nil, err
	}
	value := reflect.ValueOf(typed).Elem()
	for i, name := range partNames {
		if now[i].raw == nil {
			part, ok := value.FieldByName(name.field).Addr().Interface().(interface{ Marshal() ([]byte, error) })
			if !ok {
				return nil, fmt.Errorf("its %s has no form in protobuf", name.json)
			}
			var err error
			if now[i].raw, err = part.Marshal(); err != nil {
				return nil, err
			}
		}
		size += len(now[i].raw) + 1 + binary.MaxVarintLen32
	}
	o.parts.Store(&now)
	o.before = nil
	out := make([]byte, 0, size)
	for i := range now {
		const bytes = 2
		out = append(binary.AppendUvarint(append(out, byte(i+1)<<3|bytes), uint64(len(now[i].raw))), now[i].raw...)
	}
	return out, nil
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
