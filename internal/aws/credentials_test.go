package aws_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/controller/nodeclass"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// refusedCredentials are the ways in which AWS says that it does not know the caller.
var refusedCredentials = map[string]world.Fault{
	"ExpiredToken":                {Kind: world.FaultError, Code: "ExpiredToken", Message: "The security token included in the request is expired", Status: 403},
	"InvalidClientTokenId":        {Kind: world.FaultError, Code: "InvalidClientTokenId", Message: "The security token included in the request is invalid.", Status: 403},
	"UnrecognizedClientException": {Kind: world.FaultError, Code: "UnrecognizedClientException", Message: "The security token included in the request is invalid.", Status: 400},
	"AuthFailure":                 {Kind: world.FaultError, Code: "AuthFailure", Message: "AWS was not able to validate the provided access credentials", Status: 401},
}

// watchedClass is a class in a cluster of its own, with the controller that looks at it.
type watchedClass struct {
	*testing.T
	client.Client
	clock *clocktesting.FakeClock
}

func newWatchedClass(t *testing.T, class *awsv1.EC2NodeClass, now time.Time) *watchedClass {
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(class).WithObjects(class).Build()
	return &watchedClass{t, kube, clocktesting.NewFakeClock(now)}
}

// look has the controller look at the class with a provider, and returns the class.
func (w *watchedClass) look(p *aws.Provider) *awsv1.EC2NodeClass {
	w.Helper()
	c := &nodeclass.Controller{
		Client: w.Client, Cloud: p, Recorder: record.NewFakeRecorder(100), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
		Clock: w.clock, ReservedCapacity: true, Hash: func(*awsv1.EC2NodeClass) string { return "123" }, HashVersion: awsv1.EC2NodeClassHashVersion,
	}
	key := client.ObjectKey{Name: "default"}
	if _, err := c.Reconcile(w.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		w.Fatal(err)
	}
	class := &awsv1.EC2NodeClass{}
	if err := w.Get(w.Context(), key, class); err != nil {
		w.Fatal(err)
	}
	return class
}

// Credentials that AWS refuses say nothing of a class: it stays as it was when last seen, for longer than anything that was found of it is
// believed, and a profile that another controller made stays in use.
func TestRefusedCredentialsTakeNothingFromAClass(t *testing.T) {
	for name, refusal := range refusedCredentials {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			w := s.World
			class := newClass(s)
			if _, err := w.CreateInstanceProfile("theirs", "/", map[string]string{"kubernetes.io/cluster/" + w.ClusterName(): "owned", awsv1.TagNodeClass: class.Name}); err != nil {
				t.Fatal(err)
			}
			if err := w.AddRoleToInstanceProfile("theirs", class.Spec.Role); err != nil {
				t.Fatal(err)
			}
			class.Annotations, class.Status.InstanceProfile = nil, "theirs"
			watched := newWatchedClass(t, class, time.Now())
			p, calls := newCountedProvider(t, s, func(o *aws.Options) { o.Now, o.KubernetesVersion = watched.clock.Now, version("1.36") })
			ready(t, p)
			if is := watched.look(p); is.Status.InstanceProfile != "theirs" || !is.StatusConditions(true).IsTrue() {
				t.Fatalf("before the outage: %+v", is.Status)
			}
			fault := w.AddFault(refusal)
			const outage = 70 * time.Minute // trials are believed for an hour, profiles for half of that
			for at := time.Duration(0); at < outage; at += 5 * time.Minute {
				watched.clock.Step(5 * time.Minute)
				is := watched.look(p)
				if root := is.StatusConditions(true).Root(); !root.IsTrue() || is.Status.InstanceProfile != "theirs" {
					t.Fatalf("after %v: profile %q, %+v", at, is.Status.InstanceProfile, is.Status.Conditions)
				}
			}
			w.RemoveFault(fault)
			watched.clock.Step(5 * time.Minute)
			calls.Reset()
			if is := watched.look(p); is.Status.InstanceProfile != "theirs" || !is.StatusConditions(true).IsTrue() || strings.Contains(is.StatusConditions(true).Get(awsv1.ConditionTypeInstanceProfileReady).Message, "last seen") {
				t.Errorf("after the outage: %+v", is.Status)
			}
			if n := calls.Of("CreateInstanceProfile"); n != 0 {
				t.Errorf("%d profiles were made", n)
			}
		})
	}
}

// A process that has just started knows nothing of a class: then nothing is said, whatever the class selects.
func TestRefusedCredentialsAreNoVerdictOnAClass(t *testing.T) {
	for name, refusal := range refusedCredentials {
		for kind, service := range map[string]string{"everything": "*", "EKS": "eks", "IAM": "iam", "EC2": "ec2"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				s := startSim(t, awssim.Options{})
				ownTemplate(t, s, "own", ownData(t, s, nil))
				refusal.Service = service
				s.World.AddFault(refusal)
				for _, class := range []*awsv1.EC2NodeClass{newClass(s), ownClass(s, "own")} {
					_, found := findings(t, newProvider(t, s, func(o *aws.Options) { o.KubernetesVersion = version("1.36") }), class)
					for condition, f := range found {
						if !f.OK && !f.Unknown {
							t.Errorf("%s: %+v", condition, f)
						}
					}
				}
			})
		}
	}
}

// The same in each trial: what it is refused for may be over in a moment.
func TestRefusedCredentialsInATrialAreNoVerdict(t *testing.T) {
	for _, operation := range []string{"CreateLaunchTemplate", "CreateFleet", "RunInstances"} {
		s := startSim(t, awssim.Options{})
		refusal := refusedCredentials["ExpiredToken"]
		refusal.Operation = operation
		s.World.AddFault(refusal)
		_, found := findings(t, newProvider(t, s, nil), newClass(s))
		if f := found[awsv1.ConditionTypeValidationSucceeded]; !f.Unknown {
			t.Errorf("%s: %+v", operation, f)
		}
	}
}

// What says that a permission is missing sends its reader to the policies, where nothing is wrong.
func TestRefusedCredentialsAreNoMissingPermission(t *testing.T) {
	s := startSim(t, awssim.Options{})
	ownTemplate(t, s, "own", ownData(t, s, nil))
	p := newProvider(t, s, nil)
	ready(t, p)
	class := ownClass(s, "own")
	resolveOwn(t, p, class)
	for _, operation := range []string{"CreateFleet", "DescribeCluster"} {
		refusal := refusedCredentials["ExpiredToken"]
		refusal.Operation = operation
		s.World.AddFault(refusal)
	}
	_, launching := p.Launch(t.Context(), newClaim(1), class)
	for what, err := range map[string]error{"launching": launching, "describing the cluster": newProvider(t, s, nil).Check(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "AWS refuses the credentials") || strings.Contains(err.Error(), "permission") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Whether spot requests may be tagged is not learned from credentials that are refused once.
func TestSpotRequestsStayTaggedAfterRefusedCredentials(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	refusal := refusedCredentials["ExpiredToken"]
	refusal.Operation, refusal.Skip, refusal.Count = "RunInstances", 1, 1 // the second is for spot
	s.World.AddFault(refusal)
	resolve(t, p, class)
	m, err := p.Launch(t.Context(), newClaim(1, need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot")), class)
	if err != nil {
		t.Fatal(err)
	}
	i, _ := s.World.Instance(m.InstanceID)
	if !slices.ContainsFunc(i.Launch.TagSpecifications, func(spec world.TagSpecification) bool { return spec.ResourceType == "spot-instances-request" }) {
		t.Errorf("the launch tags %v", i.Launch.TagSpecifications)
	}
}
