package v1_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/aws/v1/apitest"
)

// Every field of the spec is here: a change of it makes nodes drift as NodeClassDrift, or it does not, because nodes drift
// when what it selects changes.
func TestWhichFieldsOfTheSpecDrift(t *testing.T) {
	drifts := map[string]bool{
		"SubnetSelectorTerms": false, "SecurityGroupSelectorTerms": false, "CapacityReservationSelectorTerms": false,
		"AMISelectorTerms": false, "LaunchTemplate": false,
		"PlacementGroupSelector": true, "AMIFamily": true, "AssociatePublicIPAddress": true, "IPPrefixCount": true, "UserData": true,
		"Role": true, "InstanceProfile": true, "Tags": true, "Kubelet": true, "BlockDeviceMappings": true, "InstanceStorePolicy": true,
		"NetworkInterfaces": true, "DetailedMonitoring": true, "MetadataOptions": true, "ConnectionTracking": true, "CPUOptions": true, "EnclaveOptions": true,
		"Context": true,
	}
	spec := reflect.TypeFor[v1.EC2NodeClassSpec]()
	for i := range spec.NumField() {
		name := spec.Field(i).Name
		want, ok := drifts[name]
		if !ok {
			t.Errorf("spec.%s: whether a change of it makes nodes drift is not decided here", name)
			continue
		}
		delete(drifts, name)
		// The family is spelled, as an alias would decide it.
		base := func(c *v1.EC2NodeClass) {
			c.Spec.AMIFamily, c.Spec.AMISelectorTerms = new(v1.AMIFamilyAL2023), []v1.AMISelectorTerm{{ID: "ami-1"}}
		}
		before := apitest.EC2NodeClass("c", base).Hash("ca")
		after := apitest.EC2NodeClass("c", base, func(c *v1.EC2NodeClass) { fill(t, reflect.ValueOf(&c.Spec).Elem().Field(i)) }).Hash("ca")
		if (before != after) != want {
			t.Errorf("spec.%s: a change drifts: %t, want %t", name, before != after, want)
		}
	}
	for name := range drifts {
		t.Errorf("there is no field spec.%s", name)
	}
}

// fill sets a value, and all in it, to something that it was not.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
		*q = resource.MustParse("77Gi")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		if raw, ok := v.Addr().Interface().(*json.RawMessage); ok {
			*raw = json.RawMessage("7")
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("changed")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(7)
	default:
		t.Fatalf("no value for a %s", v.Kind())
	}
}

// A launch template of users decides most of an instance. Each field of the spec is refused beside one, or is listed here as
// one that has its effect all the same; otherwise a field would be ignored without a word.
func TestWhichFieldsOfTheSpecWorkBesideALaunchTemplate(t *testing.T) {
	works := []string{"SubnetSelectorTerms", "LaunchTemplate", "Tags", "Kubelet", "InstanceStorePolicy", "Context"}
	// The API server refuses the same.
	crd, err := os.ReadFile("../../crds/karpenter.k8s.aws_ec2nodeclasses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec := reflect.TypeFor[v1.EC2NodeClassSpec]()
	for i := range spec.NumField() {
		f := spec.Field(i)
		c := apitest.EC2NodeClass("c", func(c *v1.EC2NodeClass) {
			c.Spec = v1.EC2NodeClassSpec{SubnetSelectorTerms: c.Spec.SubnetSelectorTerms, LaunchTemplate: &v1.LaunchTemplateReference{Name: "users"}}
		})
		if f.Name != "LaunchTemplate" {
			fill(t, reflect.ValueOf(&c.Spec).Elem().Field(i))
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		errs, _ := c.Validate()
		refused := slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Type == field.ErrorTypeForbidden && e.Field == "spec."+name })
		if want := !slices.Contains(works, f.Name); refused != want {
			t.Errorf("spec.%s beside a launch template: refused %v, want %v (templateExcludes): %v", name, refused, want, errs)
		}
		rule := strings.Contains(string(crd), "!has(self.launchTemplate) || !has(self."+name+")")
		if rule != refused {
			t.Errorf("spec.%s beside a launch template: the CRD has a rule against it: %v, want %v", name, rule, refused)
		}
	}
}
