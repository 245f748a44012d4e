// Package kubeletfields compares the list of the kubelet's fields that an EC2NodeClass may set with the kubelet that this module
// builds with. The product does not import its API for it: that brings a tracing stack along.
package kubeletfields

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

const list = "../../../../internal/state/cloud/kubeletfields/fields.txt"

func TestTheListIsThatOfTheKubelet(t *testing.T) {
	var want []string
	fields := reflect.TypeFor[kubeletv1beta1.KubeletConfiguration]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "kind" && name != "apiVersion" {
			want = append(want, name+" "+kind(fields.Field(i).Type))
		}
	}
	slices.Sort(want)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("the kubelet has %q, the list does not", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("the list has %q, the kubelet does not", line)
		}
	}
}

// kind is what the JSON of a field is.
func kind(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return "duration"
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return "string"
	}
	return map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "bool", reflect.Int32: "integer", reflect.Int64: "integer", reflect.Float64: "number",
		reflect.Slice: "list", reflect.Map: "object", reflect.Struct: "object",
	}[t.Kind()]
}
