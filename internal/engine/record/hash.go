package record

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// podNameLabel holds the pod's own name on pods of a StatefulSet.
const podNameLabel = "statefulset.kubernetes.io/pod-name"

// HashNames returns the decision with the names of pods, namespaces, nodes, NodeClaims, DaemonSets and volumes, all UIDs
// and provider IDs replaced. A name is replaced by its rank among its like, so that the same name stays the same, nothing
// of it can be guessed back, and whatever is decided by the order of names is decided as before: the decision stays
// the same decision. What is said of disruption is left out. Labels, taints, pools and instance types stay as they are, because they are what is decided upon.
func HashNames(d *Decision) *Decision {
	r := &renamer{seen: map[kind]map[string]bool{}, memo: map[reflect.Value]reflect.Value{}}
	r.copy(reflect.ValueOf(d))
	r.settle()
	r.memo = map[reflect.Value]reflect.Value{}
	out := r.copy(reflect.ValueOf(d)).Interface().(*Decision)
	out.Disruption, out.Asked = nil, nil // names stand in their sentences
	for i := range out.Dropped {
		out.Dropped[i], _, _ = strings.Cut(out.Dropped[i], ":")
	}
	return out
}

// kind is what sort of thing a name is of; names of a kind are ranked among themselves.
type kind string

const (
	ofPod       kind = "pod"
	ofNamespace kind = "namespace"
	ofInstance  kind = "node"
	ofClass     kind = "class"
	ofUID       kind = "uid"
	ofProvider  kind = "provider"
	ofDaemon    kind = "daemonset"
	ofQuoted    kind = "name"
)

// renamer copies values. The first time it only collects names; once they are ranked, it replaces them.
type renamer struct {
	seen   map[kind]map[string]bool
	ranked map[kind]map[string]string
	memo   map[reflect.Value]reflect.Value // pointers that were copied already
}

func (r *renamer) settle() {
	r.ranked = map[kind]map[string]string{}
	for k, names := range r.seen {
		r.ranked[k] = map[string]string{}
		for i, name := range slices.Sorted(maps.Keys(names)) {
			r.ranked[k][name] = fmt.Sprintf("%s-%06d", k, i+1)
		}
	}
}

func (r *renamer) name(k kind, name *string) {
	if *name == "" {
		return
	}
	if r.ranked != nil {
		if to, ok := r.ranked[k][*name]; ok {
			*name = to
		}
		return
	}
	if r.seen[k] == nil {
		r.seen[k] = map[string]bool{}
	}
	r.seen[k][*name] = true
}

// copy copies everything but what no name can be in.
func (r *renamer) copy(v reflect.Value) reflect.Value {
	switch v.Type() {
	case reflect.TypeFor[[]*catalog.Type](), reflect.TypeFor[[]plan.TypeChoice]():
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if known, ok := r.memo[v]; ok {
			return known
		}
		out.Set(reflect.New(v.Type().Elem()))
		r.memo[v] = out
		out.Elem().Set(r.copy(v.Elem()))
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(r.copy(v.Field(i)))
				r.field(v.Type().Field(i), out.Field(i))
			}
		}
		r.rename(out.Addr().Interface())
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(r.copy(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for k, x := range v.Seq2() {
			out.SetMapIndex(k, r.copy(x))
		}
	default:
		out.Set(v)
	}
	return out
}

// field replaces a name that stands in a field of a plan or of a pod, where the field's name says what it is.
func (r *renamer) field(f reflect.StructField, v reflect.Value) {
	if v.Kind() != reflect.String {
		return
	}
	name := v.String()
	switch f.Name {
	case "ClassID":
		r.name(ofClass, &name)
	case "Node":
		r.name(ofInstance, &name)
	}
	v.SetString(name)
}

// rename replaces the names in a struct, whose parts are done already.
func (r *renamer) rename(at any) {
	switch x := at.(type) {
	case *cluster.PodRef:
		r.name(ofPod, &x.Name)
		r.name(ofNamespace, &x.Namespace)
		r.name(ofUID, &x.UID)
	case *cluster.Daemon:
		r.name(ofDaemon, &x.Name)
	case *cluster.Class:
		r.class(x)
	case *cluster.PodAffinity:
		for i := range x.Namespaces {
			r.name(ofNamespace, &x.Namespaces[i])
		}
	case *cluster.SharedVolume:
		r.name(ofQuoted, &x.Volume)
	case *cluster.Node:
		r.node(x)
	case *requirement.Term:
		r.term(x)
	case *plan.Reason:
		r.reason(x)
	case *Claim:
		r.name(ofInstance, &x.Name)
	}
}

func (r *renamer) class(c *cluster.Class) {
	if c.ID == "" {
		c.ID = c.Hash()
	}
	r.name(ofClass, &c.ID)
	r.name(ofNamespace, &c.Namespace)
	if name, ok := c.Labels[podNameLabel]; ok {
		r.name(ofPod, &name)
		c.Labels[podNameLabel] = name
	}
	r.quoted(&c.Unplaceable)
}

func (r *renamer) node(n *cluster.Node) {
	r.name(ofInstance, &n.Name)
	r.name(ofInstance, &n.Hostname)
	r.name(ofInstance, &n.Claim)
	r.name(ofProvider, &n.ProviderID)
	if name, ok := n.Labels[requirement.Hostname]; ok {
		r.name(ofInstance, &name)
		n.Labels[requirement.Hostname] = name
	}
}

func (r *renamer) term(t *requirement.Term) {
	var k kind
	switch key := requirement.Normalize(t.Key); {
	case namesInstances(key):
		k = ofInstance
	case key == podNameLabel:
		k = ofPod
	default:
		return
	}
	for i := range t.Values {
		r.name(k, &t.Values[i])
	}
}

func (r *renamer) reason(x *plan.Reason) {
	switch {
	case x.Code == plan.NodesFull:
		r.name(ofInstance, &x.Nearest)
	case x.Code == plan.Unplaceable:
		r.quoted(&x.Detail)
	}
	if r.ranked == nil {
		return
	}
	for _, text := range []*string{&x.Want, &x.Have, &x.Detail, &x.Nearest} {
		if namesInstances(x.Key) || strings.Contains(*text, requirement.Hostname+" ") || strings.Contains(*text, requirement.NodeName+" ") {
			*text = word.ReplaceAllStringFunc(*text, func(w string) string {
				r.name(ofInstance, &w)
				return w
			})
		}
	}
}

// namesNodes reports whether the values of a label or field are names of nodes.
func namesInstances(key string) bool {
	return key == requirement.Hostname || key == requirement.NodeName
}

var (
	word       = regexp.MustCompile(`[A-Za-z0-9._/-]+`)
	quotedName = regexp.MustCompile(`"[^"]*"`)
)

// quoted replaces what stands in quotation marks in a sentence.
func (r *renamer) quoted(text *string) {
	*text = quotedName.ReplaceAllStringFunc(*text, func(q string) string {
		name := q[1 : len(q)-1]
		r.name(ofQuoted, &name)
		return `"` + name + `"`
	})
}

// SamePlan reports whether both plans are written as the same bytes.
func SamePlan(a, b *plan.Plan) bool {
	x, err := PlanBytes(a)
	y, err2 := PlanBytes(b)
	return err == nil && err2 == nil && string(x) == string(y)
}
