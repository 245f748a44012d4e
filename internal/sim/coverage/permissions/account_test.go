package permissions_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	controllerRole = clusterName + "-karpenter"

	region      = "eu-west-1"
	clusterName = "demo"
	parameter   = "/images/mine" // names an image, and belongs to the user
	otherRole   = "SomebodyElse" // for nodes, but not the stack's
)

// account is a simulated AWS account that enforces permissions, with a bootstrap stack in it.
type account struct {
	t         testing.TB
	sim       *awssim.Server
	stack     *stack.Stack
	ca        []byte
	clients   *session.Session // the controller's
	volumeKey string           // ARN
	denials   int              // that were looked at
}

// closing are the accounts that are being closed.
var closing sync.WaitGroup

// newAccount deploys the stack of an edition as an administrator would, and takes on the controller's role.
func newAccount(t testing.TB, c stack.Compat, change func(*stack.Options)) *account {
	t.Helper()
	sim, err := awssim.New(awssim.Options{
		Logger: slog.New(slog.DiscardHandler), NoQueue: true, Enforce: true, CAFile: filepath.Join(t.TempDir(), "ca.pem"),
		World: world.Options{
			Region: region, ClusterName: clusterName, NoIdentities: true, Types: []string{"m5.large", "m6i.large", "m5.metal"}, SpotDepth: 100, OnDemandDepth: 100,
			PendingTime: -1, ShutdownTime: -1,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	// It waits for connections that the SDK has opened and not used; the next test need not.
	closing.Add(1)
	t.Cleanup(func() { go func() { defer closing.Done(); _ = sim.Close() }() })
	a := &account{t: t, sim: sim}
	if a.ca, err = os.ReadFile(sim.CAFile()); err != nil {
		t.Fatal(err)
	}
	a.furnish()
	a.deploy(c, change)
	return a
}

// furnish makes what the account has besides the stack.
func (a *account) furnish() {
	w := a.sim.World
	key, err := w.CreateKey(world.NewKey{Description: "volumes"})
	if err != nil {
		a.t.Fatal(err)
	}
	a.volumeKey = key.ARN
	i := slices.IndexFunc(w.Images(), func(i world.Image) bool {
		return i.Family == world.FamilyAL2023 && i.Arch == "x86_64" && i.Variant == world.VariantStandard
	})
	w.PutParameter(parameter, "String", w.Images()[i].ID)
	// An account that has ever launched a spot instance has this role.
	if _, err := w.CreateServiceLinkedRole("spot.amazonaws.com", "", ""); err != nil {
		a.t.Fatal(err)
	}
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	if _, err := w.CreateRole(otherRole, "/", trust, nil); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) deploy(c stack.Compat, change func(*stack.Options)) {
	a.t.Helper()
	o := stack.Defaults(c)
	o.ClusterName, o.Controller = clusterName, stack.PodIdentity
	o.InstanceStatus, o.KMS = true, true
	o.Parameters = []string{"arn:aws:ssm:" + region + ":" + a.sim.World.Account() + ":parameter" + parameter}
	o.VolumeKeys = []string{a.volumeKey}
	o.ZonalShift, o.CapacityReservations, o.PlacementGroups = true, true, true
	o.LaunchTemplates, o.PassRoles = true, []string{"arn:aws:iam::" + a.sim.World.Account() + ":role/" + otherRole}
	if change != nil {
		change(&o)
	}
	s, err := stack.New(o)
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := s.CloudFormation()
	if err != nil {
		a.t.Fatal(err)
	}
	admin := a.session(world.AccessKey{ID: world.DefaultAdminAccessKey, Secret: world.DefaultAdminSecretKey})
	if _, err := stackdeploy.Deploy(a.t.Context(), admin, "Karpenter-"+clusterName, string(text), nil, nil); err != nil {
		a.t.Fatal(err)
	}
	a.stack = s
	key, err := a.sim.World.RoleSession(controllerRole, "kerf")
	if err != nil {
		a.t.Fatal(err)
	}
	a.clients = a.session(key)
}

func (a *account) session(key world.AccessKey) *session.Session {
	a.t.Helper()
	s, err := session.New(a.t.Context(), session.Options{Version: "test", Explicit: &session.Explicit{
		Region: region, Endpoint: a.sim.SecureURL(), CA: a.ca, AccessKeyID: key.ID, SecretAccessKey: key.Secret, SessionToken: key.SessionToken,
	}})
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// documents are the controller's policies as they were deployed, by ARN.
func (a *account) documents() map[string]*iampolicy.Document {
	a.t.Helper()
	out := map[string]*iampolicy.Document{}
	for _, p := range a.sim.World.ManagedPolicies() {
		if p.AWS {
			continue
		}
		first, err := a.sim.World.PolicyVersion(p.ARN, "v1")
		if err != nil {
			a.t.Fatal(err)
		}
		if out[p.ARN], err = iampolicy.Parse([]byte(first.Document)); err != nil {
			a.t.Fatal(err)
		}
	}
	return out
}

// takeAway takes grants out of the deployed policies, as somebody would who edits them. What is left of a statement whose
// resources are taken in part goes into a policy of its own, for some editions fill theirs.
func (a *account) takeAway(grants ...grant) {
	a.t.Helper()
	w, taken := a.sim.World, 0
	left := &iampolicy.Document{Version: "2012-10-17"}
	for arn, d := range a.documents() {
		before := taken
		for _, g := range grants {
			if rest, found := g.takeFrom(d); found {
				taken++
				left.Statements = append(left.Statements, rest...)
			}
		}
		switch {
		case taken == before:
		case len(d.Statements) == 0:
			if err := w.DetachRolePolicy(controllerRole, arn); err != nil {
				a.t.Fatal(err)
			}
		default:
			if _, err := w.CreatePolicyVersion(arn, string(d.JSON()), true); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	if taken != len(grants) {
		a.t.Fatalf("%d of %d grants were found in the policies: %v", taken, len(grants), grants)
	}
	if len(left.Statements) > 0 {
		if err := w.PutRolePolicy(controllerRole, "rest", string(left.JSON())); err != nil {
			a.t.Fatal(err)
		}
	}
}

// denied are the refusals since the last call.
func (a *account) denied() []authz.Denial {
	list := a.sim.Permissions.Denied().Denials[a.denials:]
	a.denials += len(list)
	return list
}
