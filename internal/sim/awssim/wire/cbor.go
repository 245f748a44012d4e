package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Timestamp is a moment in an answer: seconds since 1970, tagged as such where the protocol does that.
type Timestamp time.Time

// MarshalJSON writes the seconds, with fraction if there is one.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, t.seconds(), 'f', -1, 64), nil
}

func (t Timestamp) seconds() float64 { return float64(time.Time(t).UnixMilli()) / 1000 }

// Major types of CBOR (RFC 8949).
const (
	cborUnsigned = iota
	cborNegative
	cborBytes
	cborText
	cborList
	cborMap
	cborTag
	cborSimple
)

const (
	cborEpoch      = 1  // tag of a time
	cborIndefinite = 31 // length that a break ends
	maxCBORDepth   = 100
)

var errCBOR = errors.New("the body is not CBOR")

// decodeCBOR reads one item: nil, bool, float64, int64, uint64, string, []byte, []any or map[string]any. Tags are dropped.
func decodeCBOR(data []byte) (any, error) {
	d := &cborDecoder{data: data}
	v, err := d.item(0)
	if err != nil {
		return nil, err
	}
	if len(d.data) > 0 {
		return nil, errCBOR
	}
	return v, nil
}

type cborDecoder struct{ data []byte }

// breakMark ends lists and maps of unsaid length.
type breakMark struct{}

func (d *cborDecoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)) {
		return nil, errCBOR
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out, nil
}

// head reads the type of an item and its number.
func (d *cborDecoder) head() (major, info byte, n uint64, err error) {
	b, err := d.take(1)
	if err != nil {
		return 0, 0, 0, err
	}
	major, info = b[0]>>5, b[0]&31
	if info < 24 {
		return major, info, uint64(info), nil
	}
	if info == cborIndefinite {
		return major, info, 0, nil
	}
	if info > 27 {
		return 0, 0, 0, errCBOR
	}
	if b, err = d.take(1 << (info - 24)); err != nil {
		return 0, 0, 0, err
	}
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return major, info, n, nil
}

func (d *cborDecoder) item(depth int) (any, error) {
	if depth > maxCBORDepth {
		return nil, errors.New("the body is nested too deeply")
	}
	major, info, n, err := d.head()
	if err != nil {
		return nil, err
	}
	endless := info == cborIndefinite
	switch major {
	case cborUnsigned:
		return n, d.no(endless)
	case cborNegative:
		if n > math.MaxInt64 {
			return nil, errCBOR
		}
		return -1 - int64(n), d.no(endless)
	case cborBytes, cborText:
		b, err := d.chunks(major, n, endless)
		if err == nil && major == cborText {
			return string(b), nil
		}
		return b, err
	case cborList:
		return d.list(n, endless, depth)
	case cborMap:
		return d.fields(n, endless, depth)
	case cborTag:
		return d.item(depth + 1)
	}
	return simple(info, n)
}

func (d *cborDecoder) no(wrong bool) error {
	if wrong {
		return errCBOR
	}
	return nil
}

func (d *cborDecoder) chunks(major byte, n uint64, endless bool) ([]byte, error) {
	if !endless {
		return d.take(n)
	}
	var out []byte
	for {
		m, info, n, err := d.head()
		if err != nil {
			return nil, err
		}
		if m == cborSimple && info == cborIndefinite {
			return out, nil
		}
		if m != major || info == cborIndefinite {
			return nil, errCBOR
		}
		b, err := d.take(n)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
}

func (d *cborDecoder) list(n uint64, endless bool, depth int) (any, error) {
	out := []any{}
	for i := uint64(0); endless || i < n; i++ {
		v, err := d.item(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, end := v.(breakMark); end {
			return out, d.no(!endless)
		}
		out = append(out, v)
	}
	return out, nil
}

func (d *cborDecoder) fields(n uint64, endless bool, depth int) (any, error) {
	out := map[string]any{}
	for i := uint64(0); endless || i < n; i++ {
		k, err := d.item(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, end := k.(breakMark); end {
			return out, d.no(!endless)
		}
		key, ok := k.(string)
		if !ok {
			return nil, errCBOR
		}
		v, err := d.item(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, end := v.(breakMark); end {
			return nil, errCBOR
		}
		out[key] = v
	}
	return out, nil
}

func simple(info byte, n uint64) (any, error) {
	switch info {
	case 20:
		return false, nil
	case 21:
		return true, nil
	case 22, 23:
		return nil, nil
	case 25:
		return half(uint16(n)), nil
	case 26:
		return float64(math.Float32frombits(uint32(n))), nil
	case 27:
		return math.Float64frombits(n), nil
	case cborIndefinite:
		return breakMark{}, nil
	}
	return nil, errCBOR
}

// half widens a number of 16 bits.
func half(b uint16) float64 {
	sign, exponent, fraction := 1.0, int(b>>10&31), float64(b&1023)
	if b>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1+fraction/1024, exponent-15)
}

func putHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major<<5|byte(n))
	case n <= math.MaxUint8:
		return append(b, major<<5|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major<<5|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major<<5|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major<<5|27), n)
}

func putFloat(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, cborSimple<<5|27), math.Float64bits(f))
}

func putText(b []byte, s string) []byte { return append(putHead(b, cborText, uint64(len(s))), s...) }

// encodeCBOR writes what encoding/json would write as an object: maps, structs with their json names, lists, texts,
// numbers, booleans and Timestamps. Members that are nil are left out.
func encodeCBOR(v any) ([]byte, error) {
	if v == nil {
		return putHead(nil, cborMap, 0), nil
	}
	return appendCBOR(nil, reflect.ValueOf(v))
}

func appendCBOR(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsValid() && v.Type() == reflect.TypeFor[Timestamp]() {
		t, _ := v.Interface().(Timestamp)
		return putFloat(putHead(b, cborTag, cborEpoch), t.seconds()), nil
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return append(b, cborSimple<<5|22), nil
		}
		return appendCBOR(b, v.Elem())
	case reflect.String:
		return putText(b, v.String()), nil
	case reflect.Bool:
		return append(b, cborSimple<<5|20|byte(boolBit(v.Bool()))), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n < 0 {
			return putHead(b, cborNegative, uint64(-1-n)), nil
		}
		return putHead(b, cborUnsigned, uint64(v.Int())), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return putHead(b, cborUnsigned, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return putFloat(b, v.Float()), nil
	case reflect.Slice, reflect.Array:
		b = putHead(b, cborList, uint64(v.Len()))
		for i := range v.Len() {
			var err error
			if b, err = appendCBOR(b, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return b, nil
	case reflect.Map, reflect.Struct:
		return appendFields(b, v)
	}
	return nil, fmt.Errorf("a %s cannot be written as CBOR", v.Kind())
}

func boolBit(v bool) int {
	if v {
		return 1
	}
	return 0
}

// appendFields writes a map or a struct, in order of names.
func appendFields(b []byte, v reflect.Value) ([]byte, error) {
	fields := map[string]reflect.Value{}
	put := func(name string, f reflect.Value) {
		if (f.Kind() == reflect.Interface || f.Kind() == reflect.Pointer || f.Kind() == reflect.Map || f.Kind() == reflect.Slice) && f.IsNil() {
			return
		}
		fields[name] = f
	}
	if v.Kind() == reflect.Map {
		if v.Type().Key().Kind() != reflect.String {
			return nil, fmt.Errorf("a %s cannot be written as CBOR", v.Type())
		}
		for it := v.MapRange(); it.Next(); {
			put(it.Key().String(), it.Value())
		}
	} else {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" || strings.Contains(options, "omit") && v.Field(i).IsZero() {
				continue
			}
			if name == "" {
				name = f.Name
			}
			put(name, v.Field(i))
		}
	}
	b = putHead(b, cborMap, uint64(len(fields)))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var err error
		if b, err = appendCBOR(putText(b, name), fields[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b, nil
}
