package audit

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

var anonymizedAt = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

func labelled(name string, labels map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelInstanceTypeStable: "m5.xlarge", corev1.LabelTopologyZone: "eu-west-1a", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
	}}}
	maps.Copy(n.Labels, labels)
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3920m"), corev1.ResourceMemory: resource.MustParse("14Gi"), corev1.ResourcePods: resource.MustParse("58")}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Spec.ProviderID = "aws:///eu-west-1a/i-" + name
	return n
}

// What an audit reads in labels of others, and in names, is the same once names are hashed.
func TestWhatAnAuditReadsInNamesIsKept(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	audited := func(s *snapshot.Snapshot) *Report {
		t.Helper()
		r, err := Run(s, Options{Facts: facts})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	deployment := func(name string, labels map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: labels}}
	}
	nodes := func(labels ...map[string]string) (out []*corev1.Node) {
		for i, l := range labels {
			out = append(out, labelled(fmt.Sprintf("n%d", i), l))
		}
		return out
	}
	for name, s := range map[string]snapshot.Objects{
		"capacity types": {Nodes: nodes(
			map[string]string{"lifecycle": "Ec2Spot"}, map[string]string{"lifecycle": "acme-Spot"}, map[string]string{"lifecycle": "acme"}, map[string]string{lifecycleLabel: "spot"},
			map[string]string{eksCapacityType: "SPOT"}, map[string]string{eksCapacityType: "CAPACITY_BLOCK"}, map[string]string{karpv1.NodePoolLabelKey: "acme", karpv1.CapacityTypeLabelKey: "spot"},
		)},
		"groups": {Nodes: nodes(
			map[string]string{eksNodeGroup: "acme"}, map[string]string{eksNodeGroup: "other"}, map[string]string{eksctlNodeGroup: "acme2"}, map[string]string{eksctlNodeGroup: "other2"},
			map[string]string{kopsGroup: "acme3"}, map[string]string{kopsGroup: "other3"},
		)},
		"where and what": {Nodes: nodes(
			map[string]string{eksComputeType: "fargate"}, map[string]string{corev1.LabelOSStable: "windows"}, map[string]string{corev1.LabelTopologyZone: "", corev1.LabelFailureDomainBetaZone: "eu-west-1b"},
			map[string]string{corev1.LabelTopologyZone: ""}, map[string]string{corev1.LabelInstanceTypeStable: "", corev1.LabelInstanceType: "m5.large"},
		)},
		"Cluster Autoscaler":     {Nodes: nodes(nil), Deployments: []*appsv1.Deployment{deployment("cluster-autoscaler", nil)}},
		"that of its Helm chart": {Nodes: nodes(nil), Deployments: []*appsv1.Deployment{deployment("acme", map[string]string{"app.kubernetes.io/name": "aws-cluster-autoscaler"})}},
		"no autoscaler":          {Nodes: nodes(nil), Deployments: []*appsv1.Deployment{deployment("acme", map[string]string{"app.kubernetes.io/name": "acme"})}},
	} {
		for _, n := range s.Nodes {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-" + n.Name}}
			p.Spec.NodeName, p.Status.Phase = n.Name, corev1.PodRunning
			p.Spec.Containers = []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}}
			s.Pods = append(s.Pods, p)
		}
		plain := &snapshot.Snapshot{TakenAt: anonymizedAt, Region: "eu-west-1", Objects: s}
		was, is := audited(plain), audited(plain.Anonymize())
		if was.Floor.PerHour == 0 {
			t.Error("there is no floor to compare")
		}
		if was.Bill.PerHour != is.Bill.PerHour || math.Abs(was.Floor.PerHour-is.Floor.PerHour) > 0.001*was.Floor.PerHour || was.Cluster.Scaled != is.Cluster.Scaled {
			t.Errorf("%s: bill %f and %f, floor %f and %f, scaled by %s and %s", name, was.Bill.PerHour, is.Bill.PerHour, was.Floor.PerHour, is.Floor.PerHour, was.Cluster.Scaled, is.Cluster.Scaled)
		}
		shares := func(of []Share, named bool) (out string) {
			for _, x := range of {
				if named {
					out += x.Name
				}
				out += fmt.Sprintf(" %d %f;", x.Nodes, x.PerHour)
			}
			return out
		}
		if a, b := shares(was.Bill.CapacityTypes, true), shares(is.Bill.CapacityTypes, true); a != b {
			t.Errorf("%s: capacity types are %s, and hashed %s", name, a, b)
		}
		if a, b := shares(was.Bill.Groups, false), shares(is.Bill.Groups, false); a != b {
			t.Errorf("%s: groups are %s, and hashed %s", name, a, b)
		}
	}
}

// What AWS names, and Karpenter's labels of it, is kept: for all types and zones of the facts, so that a new one is seen here.
func TestLabelsOfInstanceTypesAreKept(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	kept := func(labels map[string]string) {
		t.Helper()
		s := &snapshot.Snapshot{Objects: snapshot.Objects{Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}}}}}
		for k, v := range s.Anonymize().Nodes[0].Labels {
			if labels[k] != v {
				t.Errorf("%s=%s is there, and is not of %v", k, v, labels)
			}
		}
	}
	for name, x := range newMarket(&Options{Facts: facts}, "us-east-1", anonymizedAt).all {
		labels := map[string]string{corev1.LabelInstanceTypeStable: name}
		for _, r := range x.Requirements {
			for _, v := range r.Values {
				if r.Operator == requirement.In {
					labels[r.Key] = v
				}
			}
		}
		kept(labels)
	}
	for _, region := range facts.Regions() {
		list, _ := facts.Zones(region)
		for _, z := range list {
			kept(map[string]string{corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: z.Name, awsv1.LabelTopologyZoneID: z.ID})
		}
	}
}
