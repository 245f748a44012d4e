package wire

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// common parameters may come with every operation.
var common = []string{"Action", "Version", "DryRun"}

// DecodeForm reads form parameters into the struct that in points to, by its query tags: Name, Name.Member for structures,
// Name.1, Name.2 for lists. A parameter that no field takes is refused by name rather than ignored, so that a caller
// never believes in a setting that has no effect here.
func DecodeForm(form url.Values, in any) error {
	d := newDecoder(form)
	for _, k := range common {
		d.used[k] = true
	}
	if err := d.fields("", reflect.ValueOf(in).Elem()); err != nil {
		return err
	}
	return refuseUnknown(form, func(name string) bool { return d.used[name] })
}

// ReadForm is DecodeForm for those who look at a part of the parameters only: what no field takes is left alone.
func ReadForm(form url.Values, in any) error {
	return newDecoder(form).fields("", reflect.ValueOf(in).Elem())
}

type decoder struct {
	form    url.Values
	used    map[string]bool
	present map[string]bool     // parameters and all that they are members of
	members map[string][]string // the parts that follow a name, as they come
}

func newDecoder(form url.Values) *decoder {
	d := &decoder{form: form, used: map[string]bool{}, present: map[string]bool{}, members: map[string][]string{}}
	for k := range form {
		for name := k; !d.present[name]; {
			d.present[name] = true
			dot := strings.LastIndexByte(name, '.')
			if dot < 0 {
				break
			}
			d.members[name[:dot]] = append(d.members[name[:dot]], name[dot+1:])
			name = name[:dot]
		}
	}
	return d
}

func (d *decoder) fields(prefix string, v reflect.Value) error {
	t := v.Type()
	for n := range t.NumField() {
		f := t.Field(n)
		if f.Anonymous {
			if err := d.fields(prefix, v.Field(n)); err != nil {
				return err
			}
			continue
		}
		name := f.Tag.Get("query")
		if name == "" {
			continue
		}
		if err := d.value(prefix+name, v.Field(n)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) value(name string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		return d.fields(name+".", v)
	case reflect.Slice:
		return d.list(name, v)
	case reflect.Pointer:
		if !d.present[name] {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(name, v.Elem())
	}
	values, ok := d.form[name]
	if !ok || len(values) == 0 {
		return nil
	}
	d.used[name] = true
	return scalar(name, values[0], v)
}

func scalar(name, s string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
		return nil
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(s))
		if err != nil {
			return Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It must be true or false.", s, name)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It must be an integer.", s, name)
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return Errorf("InvalidParameterValue", "Value (%s) for parameter %s is invalid. It must be a number.", s, name)
		}
		v.SetFloat(f)
	}
	return nil
}

// maxMember bounds the number in a list member's name.
const maxMember = 10_000

func (d *decoder) list(name string, v reflect.Value) error {
	var at []int
	for _, digits := range d.members[name] {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > maxMember {
			return Errorf("InvalidParameterValue", "%s.%s is not the name of a list member", name, digits)
		}
		at = append(at, n)
	}
	slices.Sort(at)
	out := reflect.MakeSlice(v.Type(), len(at), len(at))
	for i, n := range at {
		if err := d.value(name+"."+strconv.Itoa(n), out.Index(i)); err != nil {
			return err
		}
	}
	if len(at) > 0 {
		v.Set(out)
	}
	return nil
}
