package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// typedKubelet is KubeletConfiguration as its fields alone would be read and written.
type typedKubelet KubeletConfiguration

// MarshalJSON writes the listed fields and the others as one object.
func (k KubeletConfiguration) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(typedKubelet(k))
	if err != nil || len(k.Others) == 0 {
		return text, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for name, value := range k.Others {
		all[name] = value
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads the listed fields, and keeps in Others what is not listed or has a value of another type than listed. One
// class that a newer controller understands must not keep all classes from being read.
func (k *KubeletConfiguration) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("spec.kubelet: %w", err)
	}
	*k = KubeletConfiguration{}
	fields := reflect.ValueOf(k).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		value, ok := all[name]
		if name == "-" || !ok {
			continue
		}
		read := reflect.New(fields.Field(i).Type())
		if err := json.Unmarshal(value, read.Interface()); err == nil {
			fields.Field(i).Set(read.Elem())
			delete(all, name)
		}
	}
	if len(all) > 0 {
		k.Others = all
	}
	return nil
}
