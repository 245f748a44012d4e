// Package awscli carries out the aws commands of a shell script by the SDK, so that tests can try what people are told to
// run without the aws command. It knows the commands that the fix of an account consists of.
package awscli

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/session"
)

// Run carries out the aws commands of a script one after the other, and returns them, each as service and operation. The
// conditions of a shell, behind which commands are indented, are taken to hold, or with again not to: what such commands do
// is done already then.
//
// Errors: a script that cannot be read; a command that is not known, or that AWS refuses.
func Run(ctx context.Context, s *session.Session, script string, again bool) ([]string, error) {
	list, err := commands(script, again)
	if err != nil {
		return nil, err
	}
	known := operations(s)
	var done []string
	for _, words := range list {
		if len(words) < 3 {
			return done, fmt.Errorf("%s: it has no operation", strings.Join(words, " "))
		}
		name := words[1] + " " + words[2]
		do := known[name]
		if do == nil {
			return done, fmt.Errorf("aws %s is not known here", name)
		}
		if err := do(ctx, words[3:]); err != nil {
			return done, fmt.Errorf("aws %s: %w", name, err)
		}
		done = append(done, name)
	}
	return done, nil
}

// operation carries out a command with its flags.
type operation func(ctx context.Context, flags []string) error

// call makes an operation of a method of the SDK.
func call[I, O, F any](do func(context.Context, *I, ...func(*F)) (*O, error)) operation {
	return func(ctx context.Context, flags []string) error {
		var in I
		if err := fill(reflect.ValueOf(&in).Elem(), flags); err != nil {
			return err
		}
		_, err := do(ctx, &in)
		return err
	}
}

// fill sets the members of an input that flags name: --queue-url is QueueUrl.
func fill(in reflect.Value, flags []string) error {
	for i := 0; i < len(flags); i++ {
		name, ok := strings.CutPrefix(flags[i], "--")
		if !ok {
			return fmt.Errorf("%q stands where a flag should", flags[i])
		}
		member := in.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, strings.ReplaceAll(name, "-", "")) })
		if !member.IsValid() {
			return fmt.Errorf("there is no --%s", name)
		}
		value := ""
		if i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "--") {
			i++
			value = flags[i]
		} else if !isBool(member) {
			return fmt.Errorf("--%s has no value", name)
		}
		if err := set(member, value); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

func isBool(v reflect.Value) bool {
	t := v.Type()
	return t.Kind() == reflect.Bool || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Bool
}

func set(v reflect.Value, value string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(value)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return err
		}
		v.SetFloat(f)
	default:
		return json.Unmarshal([]byte(value), v.Addr().Interface())
	}
	return nil
}
