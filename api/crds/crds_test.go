package crds_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	buffersv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/api/crds/crdtest"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	karpv1alpha1 "github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
)

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		karpv1.AddToScheme, karpv1alpha1.AddToScheme, awsv1.AddToScheme, buffersv1beta1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// What users see of a definition: it is what kubectl offers and what tools rely on.
func TestDefinitionsLookAsUsersKnowThem(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	type face struct {
		Scope      apiextensionsv1.ResourceScope
		Version    string
		Short      []string
		Categories []string
		Columns    []string
		Wide       []string
		Scale      string
	}
	got := map[string]face{}
	for _, crd := range all {
		v := crd.Spec.Versions[0]
		f := face{Scope: crd.Spec.Scope, Version: v.Name, Short: crd.Spec.Names.ShortNames, Categories: crd.Spec.Names.Categories}
		for _, c := range v.AdditionalPrinterColumns {
			if c.Priority == 0 {
				f.Columns = append(f.Columns, c.Name)
			} else {
				f.Wide = append(f.Wide, c.Name)
			}
		}
		if len(crd.Spec.Versions) != 1 || !v.Served || !v.Storage || v.Subresources == nil || v.Subresources.Status == nil {
			t.Errorf("%s: want one version, served and stored, with a status sub-resource", crd.Name)
			continue
		}
		if s := v.Subresources.Scale; s != nil {
			f.Scale = s.SpecReplicasPath + " " + s.StatusReplicasPath
		}
		got[crd.Name] = f
	}
	want := map[string]face{
		"nodepools.karpenter.sh": {Scope: "Cluster", Version: "v1", Categories: []string{"karpenter"}, Scale: ".spec.replicas .status.nodes",
			Columns: []string{"NodeClass", "Nodes", "Ready", "Age"}, Wide: []string{"Weight", "CPU", "Memory"}},
		"nodeclaims.karpenter.sh": {Scope: "Cluster", Version: "v1", Categories: []string{"karpenter"},
			Columns: []string{"Type", "Capacity", "Zone", "Node", "Ready", "Age"}, Wide: []string{"ImageID", "ID", "NodePool", "NodeClass", "Drifted"}},
		"nodeoverlays.karpenter.sh": {Scope: "Cluster", Version: "v1alpha1", Categories: []string{"karpenter"}, Short: []string{"overlays"},
			Columns: []string{"Ready", "Age"}, Wide: []string{"Weight"}},
		"ec2nodeclasses.karpenter.k8s.aws": {Scope: "Cluster", Version: "v1", Categories: []string{"karpenter"}, Short: []string{"ec2nc", "ec2ncs"},
			Columns: []string{"Ready", "Age"}, Wide: []string{"Role"}},
		"capacitybuffers.autoscaling.x-k8s.io": {Scope: "Namespaced", Version: "v1beta1", Categories: []string{"autoscaling"}, Short: []string{"cb"},
			Columns: []string{"Strategy", "Replicas", "Age"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

func TestTextAndObjectsAreTheSameDefinitions(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	texts := crds.YAML()
	if len(texts) != len(all) {
		t.Errorf("%d texts, %d objects", len(texts), len(all))
	}
	for _, crd := range all {
		name := crd.Spec.Group + "_" + crd.Spec.Names.Plural + ".yaml"
		if !bytes.Contains(texts[name], []byte("name: "+crd.Name)) {
			t.Errorf("no text %s of %s", name, crd.Name)
		}
	}
}

// Rules refuse with words of their own: which field, and what to do.
func TestEveryRuleHasAMessage(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s *apiextensionsv1.JSONSchemaProps) {
		for _, v := range s.XValidations {
			if v.Message == "" {
				t.Errorf("%s: rule %s has no message", path, v.Rule)
			}
		}
		for name, p := range s.Properties {
			walk(path+"."+name, &p)
		}
		if s.Items != nil && s.Items.Schema != nil {
			walk(path+"[]", s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			walk(path+"{}", s.AdditionalProperties.Schema)
		}
	}
	for _, crd := range all {
		walk(crd.Spec.Names.Kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

// Whatever the API server admits, the Go types can read, keep and judge without a panic. A field
// that the types do not know would be lost on the next write.
func TestGoTypesHoldEveryAcceptedObject(t *testing.T) {
	cases, err := crdtest.Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Refuse != "" || slices.Contains([]string{"an unknown field is dropped", "minValues are dropped"}, c.Name) {
			continue
		}
		t.Run(c.File+"/"+c.Name, func(t *testing.T) {
			text, err := json.Marshal(c.Object)
			if err != nil {
				t.Fatal(err)
			}
			object := decode(t, text)
			if object == nil {
				t.Fatal("the object cannot be read")
			}
			judge(object)
			again, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			lost(t, "", tree(t, text), tree(t, again))
		})
	}
}

// lost reports what of want is not in got. What the types add, such as an empty status, is fine.
func lost(t *testing.T, path string, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, isMap := got.(map[string]any)
		if !isMap && len(w) > 0 {
			t.Errorf("%s is lost", path)
			return
		}
		for key := range w {
			if _, found := g[key]; found || !isEmpty(w[key]) {
				lost(t, path+"."+key, w[key], g[key])
			}
		}
	case []any:
		g, isList := got.([]any)
		if !isList && len(w) > 0 || len(g) != len(w) {
			t.Errorf("%s is lost: %v became %v", path, want, got)
			return
		}
		for i := range w {
			lost(t, path, w[i], g[i])
		}
	default:
		if !cmp.Equal(want, got) && !sameQuantity(path, want, got) {
			t.Errorf("%s was %v, is %v", path, want, got)
		}
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == "" || v == false || v == nil
	}
}

// sameQuantity allows for quantities, which are written in their shortest form.
func sameQuantity(path string, want, got any) bool {
	for _, part := range []string{".limits.", ".requests.", ".capacity.", ".resources.", ".allocatable.", ".volumeSize"} {
		if strings.Contains(path, part) {
			return got != nil
		}
	}
	return false
}

func tree(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// decode reads an object of any of our kinds; nil when it is none.
func decode(t testing.TB, text []byte) runtime.Object {
	var head struct{ APIVersion, Kind string }
	if json.Unmarshal(text, &head) != nil {
		return nil
	}
	object, err := scheme(t).New(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if err != nil {
		return nil
	}
	if err := json.Unmarshal(text, object); err != nil {
		t.Logf("read %s: %v", head.Kind, err)
		return nil
	}
	return object
}

// judge runs everything of this API that looks into an object.
func judge(object runtime.Object) {
	object = object.DeepCopyObject()
	switch o := object.(type) {
	case *karpv1.NodePool:
		o.Hash()
		o.IsStatic()
		o.Validate(karpv1.CoreLabelRules().With(awsv1.WellKnownLabels(), awsv1.RestrictedLabelDomains(), awsv1.LabelAliases()))
		o.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	case *karpv1.NodeClaim:
		o.Validate(karpv1.CoreLabelRules())
		o.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	case *karpv1alpha1.NodeOverlay:
		o.StatusConditions().SetTrue(karpv1alpha1.ConditionTypeValidationSucceeded)
	case *awsv1.EC2NodeClass:
		o.Hash("")
		o.Validate()
		o.ResolvedAMIFamily()
		o.StatusConditions(true).SetTrue(awsv1.ConditionTypeSubnetsReady)
	case *buffersv1beta1.CapacityBuffer:
		o.StatusConditions().SetTrue(buffersv1beta1.ConditionTypeProvisioning)
	}
}

// enormous matches an exponent that the schema does not admit.
var enormous = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)

func FuzzReadingObjectsNeverPanics(f *testing.F) {
	cases, err := crdtest.Load(os.DirFS("testdata"))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		text, err := json.Marshal(c.Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if enormous.Match(text) {
			t.Skip("the schema refuses such quantities, as the quantity parser sits over them for minutes")
		}
		object := decode(t, text)
		if object == nil {
			return
		}
		judge(object)
		if _, err := json.Marshal(object); err != nil {
			t.Errorf("an object that was read cannot be written: %v", err)
		}
	})
}
