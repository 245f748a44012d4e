package aws_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Three hundred pods that want an instance each, with twenty addresses in one of the zones: all that is planned is launched,
// and EC2 refuses no instance an address. Pods that must be in that zone come first, and those that are too many are told.
func TestAPlanIsLaunchedWithinTheAddressesOfItsSubnets(t *testing.T) {
	for name, c := range map[string]struct{ anywhere, bound, wait, there int }{
		"pods that may go anywhere":            {anywhere: 300, there: 20},
		"some of them bound to the zone":       {anywhere: 280, bound: 15, there: 20},
		"more bound to the zone than it holds": {anywhere: 270, bound: 30, wait: 10, there: 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{World: world.Options{PrivateBits: 22}})
			p := newProvider(t, s, nil)
			ready(t, p)
			class := newClass(s)
			resolve(t, p, class)
			small := class.Status.Subnets[0]
			for _, x := range p.Subnets(class) {
				if x.ID == small.ID {
					s.World.OccupyAddresses(x.ID, int(x.Free)-20)
				}
			}
			resolve(t, p, class)
			problem, nodePool := addressProblem(t, p, class)
			problem.Pending = append(apartPods("any", c.anywhere, ""), apartPods("bound", c.bound, small.Zone)...)
			out := pack.Solve(problem)
			waiting := 0
			for _, u := range out.Unplaced {
				waiting += len(u.Pods)
				if u.Reasons[0].Code != plan.NoAddresses {
					t.Errorf("pods wait because: %s", u.Reasons[0].Text())
				}
			}
			if waiting != c.wait {
				t.Errorf("%d pods wait, want %d", waiting, c.wait)
			}
			var claims []*karpv1.NodeClaim
			for i := range out.NewNodes {
				claim := apply.NodeClaim(&out.NewNodes[i], nodePool, problem.Pools[0])
				claim.Name = fmt.Sprintf("%s%03d", claim.GenerateName, i)
				claim.UID = types.UID(claim.Name)
				claims = append(claims, claim)
			}
			instances, errs := launchAll(t, p, class, claims)
			for _, err := range errs {
				t.Error(err)
			}
			oneEach(t, s, instances, c.anywhere+c.bound-c.wait)
			there := 0
			for _, m := range instances {
				if m.Zone == small.Zone {
					there++
				}
			}
			if there > c.there || there < c.bound-c.wait {
				t.Errorf("%d instances are in the zone with 20 addresses", there)
			}
			for _, f := range s.World.Fleets() {
				for _, e := range f.Errors {
					t.Errorf("EC2 had to say %s", e.Code)
				}
			}
		})
	}
}

// addressProblem is a pool of m types of the class, without pods.
func addressProblem(t *testing.T, p *aws.Provider, class *awsv1.EC2NodeClass) (*pack.Problem, *karpv1.NodePool) {
	t.Helper()
	all, err := p.Types(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	nodePool := &karpv1.NodePool{}
	nodePool.Name, nodePool.UID = "pool", "pool"
	nodePool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: class.Name}
	nodePool.Spec.Template.Spec.Requirements = newClaim(0).Spec.Requirements
	pool := intake.Pool(nodePool, class, all)
	pool.NotReady, pool.Subnets = "", p.Subnets(class)
	return &pack.Problem{Pools: []*cluster.Pool{pool}, Options: pack.Options{WellKnown: apply.WellKnownLabels()}}, nodePool
}

// apartPods are pods of which no two may share a node; bound to the zone unless that is empty.
func apartPods(name string, n int, zone string) []*cluster.Pod {
	class := &cluster.Class{Namespace: "ns", Labels: map[string]string{"apart": "yes"}, Requests: res.List{res.CPU: 1000, res.Memory: 1 << 30, res.Pods: 1},
		AntiAffinity: []cluster.PodAffinity{{Key: corev1.LabelHostname, Namespaces: []string{"ns"}, Selector: &cluster.Selector{
			Terms: []requirement.Term{{Key: "apart", Operator: requirement.In, Values: []string{"yes"}}}}}}}
	if zone != "" {
		class.Selector = []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{zone}}}
	}
	class.ID = class.Hash()
	var out []*cluster.Pod
	for i := range n {
		ref := cluster.PodRef{Namespace: "ns", Name: fmt.Sprintf("%s-%03d", name, i), UID: fmt.Sprintf("%s-%03d", name, i)}
		out = append(out, &cluster.Pod{PodRef: ref, Class: class})
	}
	return out
}
