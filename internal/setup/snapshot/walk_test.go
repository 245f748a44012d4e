package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// enums are the types of which the API server admits the words of a list only, or which only the cluster itself writes. In every other
// type free text stands.
var enums = []reflect.Type{
	reflect.TypeFor[corev1.TaintEffect](), reflect.TypeFor[corev1.TolerationOperator](), reflect.TypeFor[corev1.NodeSelectorOperator](), reflect.TypeFor[metav1.LabelSelectorOperator](),
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](), reflect.TypeFor[corev1.NodeInclusionPolicy](), reflect.TypeFor[corev1.PreemptionPolicy](), reflect.TypeFor[corev1.Protocol](),
	reflect.TypeFor[corev1.RestartPolicy](), reflect.TypeFor[corev1.ContainerRestartPolicy](), reflect.TypeFor[corev1.PodPhase](), reflect.TypeFor[corev1.PodQOSClass](),
	reflect.TypeFor[corev1.PersistentVolumeMode](), reflect.TypeFor[corev1.PersistentVolumeAccessMode](), reflect.TypeFor[corev1.PersistentVolumeClaimPhase](), reflect.TypeFor[storagev1.VolumeBindingMode](),
	reflect.TypeFor[policyv1.UnhealthyPodEvictionPolicyType](), reflect.TypeFor[batchv1.ConcurrencyPolicy](),
	reflect.TypeFor[karpv1.ConsolidationPolicy](), reflect.TypeFor[karpv1.DisruptionReason](), reflect.TypeFor[awsv1.InstanceStorePolicy](),
}

// filler puts a text into every string that a snapshot may hold.
type filler struct {
	keys []string // in turn in place of the keys of labels, taints and requirements; none: texts, too
	text string   // with a place for a number
	n    int
}

func (f *filler) word() string {
	f.n++
	return fmt.Sprintf(f.text, f.n)
}

func (f *filler) keyWord() string {
	word := f.word()
	if len(f.keys) > 0 {
		return f.keys[f.n%len(f.keys)]
	}
	return word
}

// fill puts texts into a value, and one element into every list and map. Name is that of its field.
func (f *filler) fill(v reflect.Value, name string, depth int) {
	if depth > 24 {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *metav1.TypeMeta, *metav1.Time, *metav1.MicroTime, *resource.Quantity, *metav1.Duration, *karpv1.Duration, *karpv1.NillableDuration, *metav1.FieldsV1:
		return
	case *intstr.IntOrString:
		*x = intstr.FromString(f.word())
		return
	case *json.RawMessage:
		*x = json.RawMessage(`"` + f.word() + `"`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		switch {
		case name == "Key" || name == "TopologyKey" || name == "TopologyKeys" || name == "MatchLabelKeys":
			v.SetString(f.keyWord())
		case !slices.Contains(enums, v.Type()):
			v.SetString(f.word())
		}
	case reflect.Pointer:
		if v.Type().Elem().PkgPath() == "k8s.io/apimachinery/pkg/runtime" {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i), v.Type().Field(i).Name, depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), name, depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		one := reflect.New(v.Type().Elem()).Elem()
		f.fill(one, name, depth+1)
		key := f.word()
		switch {
		case name == "Labels" || name == "MatchLabels" || name == "NodeSelector":
			key = f.keyWord()
		case name == "Annotations" && len(f.keys) > 0:
			for _, k := range append([]string{mirrorAnnotation}, publicAnnotations...) {
				v.SetMapIndex(reflect.ValueOf(k), one)
			}
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), one)
	}
}

var acme = regexp.MustCompile(`(?i).{0,60}acme.{0,20}`)

// leaks are what is left of the texts in an anonymized snapshot, each once.
func leaks(t *testing.T, f *filler, change func(*Snapshot)) []string {
	t.Helper()
	s := &Snapshot{}
	f.fill(reflect.ValueOf(s).Elem(), "", 0)
	s.Kerf = "" // the build, which Kerf writes
	s.Gaps[0].Versions = false
	if change != nil {
		change(s)
	}
	if f.n < 1000 {
		t.Fatalf("%d texts are there to be hidden", f.n)
	}
	var is bytes.Buffer
	if err := s.Anonymize().Write(&is); err != nil {
		t.Fatal(err)
	}
	var out []string
	if !strings.Contains(strings.ToLower(is.String()), "acme") {
		return nil
	}
	for _, x := range acme.FindAllString(is.String(), -1) {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// Whatever text stands in whatever field, and under whatever key that is kept, none of it is left. A field or key that somebody adds is
// tried as well.
func TestNoTextOfAnyFieldIsLeft(t *testing.T) {
	const text = "acme-secret-%d"
	try := func(what string, f *filler) {
		for i, x := range leaks(t, f, nil) {
			if i < 5 {
				t.Errorf("%s: left: %s", what, x)
			}
		}
	}
	keys := append(slices.Sorted(maps.Keys(publicKeys)), keptKeys...)
	for i := range 3 {
		try("under keys that are kept", &filler{keys: keys, text: text, n: i}) // a place has another key each time
	}
	for _, form := range []string{
		text, "Acme%d", "acme%d.example.com/x", "aws:///acme-%d/i-0123", "acme-%d://x", "aws:///eu-west-1a/acme-%d", "acme%d.csi.aws.com", "kubernetes.io/acme%d", "acme%d@latest", "al2023@acme%d", "v1.33.1-acme%d", "nvidia.com/acme%d",
		"attachable-volumes-acme%d", "karpenter.k8s.aws/instance-acme%d", "node.kubernetes.io/acme%d", "acmeteam%d.large", "@acme%d", "10%% acme%d", "kerf.sh/acme%d", "true-acme%d",
	} {
		try(form, &filler{text: form})
	}
	try("spot", &filler{keys: lifecycleKeys, text: "acme-Spot-%d"})
	for _, kind := range []string{"v1", "apps/v1", "karpenter.sh/v1"} {
		if got := (&anonymizer{known: map[string]string{}}).ownerKind(kind, "AcmeSecret"); strings.Contains(got, "Acme") {
			t.Errorf("the owner %s of %s is left", got, kind)
		}
	}
	for _, x := range leaks(t, &filler{text: text}, func(s *Snapshot) {
		for _, o := range s.NodePools {
			o.Spec.Template.Spec.NodeClassRef.Group = "karpenter.k8s.aws"
		}
	}) {
		t.Errorf("the kind of a class: left: %s", x)
	}
}
