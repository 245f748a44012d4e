package world

import (
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// adminUser is the name of the account's only IAM user, who may do everything. Nothing asks for users but what judges them.
const adminUser = "admin"

func (w *World) adminARN() string { return w.iamARN("user", "/", adminUser) }

// furnishRolesLocked makes the identities of a new account: the administrator, as a user with a key and as a role; unless Options.NoIdentities, the roles of
// nodes and controller and what EC2 has made for spot instances. The controller's role has no policies: what it may do is
// for whoever enforces permissions to attach.
func (w *World) furnishRolesLocked() {
	admin := w.furnishRoleLocked("Administrator", "/", `{"AWS":"`+w.iamARN("root", "", "")+`"}`)
	admin.attached = []string{"arn:" + w.Partition() + ":iam::aws:policy/AdministratorAccess"}
	admin.MaxSession = mostMaxSession
	w.iam.keys[DefaultAdminAccessKey] = &AccessKey{
		ID: DefaultAdminAccessKey, Secret: DefaultAdminSecretKey, PrincipalARN: w.adminARN(), PrincipalID: stableID("AIDA", adminUser),
	}
	if w.opts.NoIdentities {
		return
	}
	cluster := w.opts.ClusterName
	node := w.furnishRoleLocked("KarpenterNodeRole-"+cluster, "/", `{"Service":"`+w.ec2Service()+`"}`)
	for _, name := range []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"} {
		node.attached = append(node.attached, "arn:"+w.Partition()+":iam::aws:policy/"+name)
	}
	name := "KarpenterController-" + cluster
	own := w.iamARN("role", "/", name)
	controller := w.furnishRoleLocked(name, "/", `{"Service":"`+podIdentity+`","AWS":"`+w.iamARN("root", "", "")+`"}`)
	// Tests make sessions of it with its own key.
	controller.inline["AssumeItself"] = mustInline(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["sts:AssumeRole","sts:TagSession"],"Resource":"` + own + `"}}`)
	w.iam.keys[DefaultAccessKey] = &AccessKey{ID: DefaultAccessKey, Secret: DefaultSecretKey, PrincipalARN: own}
	if _, err := w.createServiceLinkedRoleLocked("spot.amazonaws.com", "", ""); err != nil {
		panic("world: " + err.Error())
	}
}

// furnishRoleLocked makes a role that may be assumed by principals, given as JSON. Its id follows from its name alone, so
// that what the seed gives later does not depend on which roles there are.
func (w *World) furnishRoleLocked(name, path, principals string) *roleState {
	text := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":` + principals + `,"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	trust, err := w.trustLocked(text)
	if err != nil {
		panic("world: trust of " + name + ": " + err.Error())
	}
	r := &roleState{trust: trust, inline: map[string]inlinePolicy{}, Role: Role{
		Name: name, ID: stableID("AROA", path+name), Path: path, ARN: w.iamARN("role", path, name), TrustPolicy: text,
		MaxSession: defaultMaxSession, Created: w.clock.Now(),
	}}
	w.iam.roles[name] = r
	w.iamChangedLocked()
	return r
}

func mustInline(text string) inlinePolicy {
	d, err := identityPolicy(text)
	if err != nil {
		panic("world: " + err.Error())
	}
	return inlinePolicy{text, d}
}

// ec2Service is the name by which trust policies know EC2 in the partition.
func (w *World) ec2Service() string {
	return "ec2." + partition.SuffixOf(w.Partition())
}

const (
	podIdentity        = "pods.eks.amazonaws.com"
	podIdentitySession = 30 * 24 * time.Hour // in fact the agent renews them every six hours
)
