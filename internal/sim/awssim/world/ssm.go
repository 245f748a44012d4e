package world

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// ssmState holds the parameters of the account; the public ones that name images are read from the images.
type ssmState struct {
	parameters map[string]*Parameter
}

func (s *ssmState) init() { s.parameters = map[string]*Parameter{} }

// Parameter is a parameter of the SSM parameter store.
type Parameter struct {
	Name, Value, ARN string
	Type             string // String, StringList, SecureString
	DataType         string // text or aws:ec2:image
	Version          int64
	Modified         time.Time
}

// PutParameter sets a parameter; each change counts its version up. It may also shadow a public one.
func (w *World) PutParameter(name, kind, value string) Parameter {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.ssm.parameters[name]
	if p == nil {
		p = &Parameter{Name: name, ARN: w.parameterARN(name)}
		w.ssm.parameters[name] = p
	}
	p.Type, p.Value, p.DataType, p.Modified = kind, value, "text", w.clock.Now()
	p.Version++
	return *p
}

// OwnParameter finds a parameter that was put, by its name.
func (w *World) OwnParameter(name string) (Parameter, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.ssm.parameters[name]; p != nil {
		return *p, true
	}
	return Parameter{}, false
}

// DeleteParameter removes a parameter that was put and tells whether there was one.
func (w *World) DeleteParameter(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.ssm.parameters[name]
	delete(w.ssm.parameters, name)
	return ok
}

// Parameter finds a parameter by name or ARN.
func (w *World) Parameter(nameOrARN string) (Parameter, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := nameOrARN
	if strings.HasPrefix(name, "arn:") {
		_, rest, ok := strings.Cut(name, ":parameter/")
		if !ok {
			return Parameter{}, false
		}
		name = "/" + rest
		if w.ssm.parameters[rest] != nil {
			name = rest
		}
	}
	return w.parameterLocked(name)
}

func (w *World) parameterLocked(name string) (Parameter, bool) {
	if p := w.ssm.parameters[name]; p != nil {
		return *p, true
	}
	id, ok := w.ec2.imagePaths[name]
	if !ok {
		return Parameter{}, false
	}
	p := Parameter{Name: name, Value: id, Type: "String", DataType: "aws:ec2:image", Version: 1, ARN: w.parameterARN(name)}
	if i := w.ec2.images[id]; i != nil {
		p.Modified = i.Created
	}
	return p, true
}

func (w *World) parameterARN(name string) string {
	account := w.opts.Account
	if strings.HasPrefix(name, "/aws/service/") {
		account = "" // public parameters belong to no account
	}
	return "arn:" + w.Partition() + ":ssm:" + w.opts.Region + ":" + account + ":parameter/" + strings.TrimPrefix(name, "/")
}

// ParametersByPath returns the parameters below a path by name; without recursion only those directly below it.
func (w *World) ParametersByPath(path string, recursive bool) []Parameter {
	w.mu.Lock()
	defer w.mu.Unlock()
	prefix := strings.TrimSuffix(path, "/") + "/"
	names := map[string]bool{}
	for _, keys := range []map[string]bool{keySet(w.ssm.parameters), keySet(w.ec2.imagePaths)} {
		for name := range keys {
			rest, ok := strings.CutPrefix(name, prefix)
			if ok && rest != "" && (recursive || !strings.Contains(rest, "/")) {
				names[name] = true
			}
		}
	}
	out := make([]Parameter, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, _ := w.parameterLocked(name)
		out = append(out, p)
	}
	return out
}

func keySet[V any](m map[string]V) map[string]bool {
	out := make(map[string]bool, len(m))
	for k := range m {
		out[k] = true
	}
	return out
}
