package images

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// guide is the CloudFormation template of the guide on custom images of 2021, letter for letter.
//
//go:embed launch-template-guide.yaml
var guide string

// Names in the guide's template.
const (
	guideTemplateName = "KarpenterCustomLaunchTemplate"
	guideRole         = "KarpenterNodeRole"
)

// Guide is the guide's template for a cluster. Only what the guide says is to be replaced is: image, security group and
// the parameters of the bootstrap script. fixed has the script keep its lines, too, without which nothing of it runs.
func Guide(cluster world.Cluster, image, group string, fixed bool) string {
	replace := []string{
		"ami-074cce78125f09d61", image, "sg-a69adfdb", group, "MyClusterName", cluster.Name, "LS0t....0tCg==", cluster.CA,
		"https://B0385BE29EA792E811CB5866D23C856E.gr7.us-east-2.eks.amazonaws.com", cluster.Endpoint,
	}
	if fixed {
		replace = append(replace, "!Base64 >", "!Base64 |")
	}
	return strings.NewReplacer(replace...).Replace(guide)
}

// bootstrapStack is the stack of a cluster that launches from users' templates and into reservations.
func bootstrapStack(cluster string) ([]byte, error) {
	o := local.StackOptions(cluster)
	o.LaunchTemplates, o.PassRoles = true, []string{"arn:aws:iam::" + world.DefaultAccount + ":role/" + guideRole}
	o.CapacityReservations = true
	s, err := stack.New(o)
	if err != nil {
		return nil, fmt.Errorf("make the bootstrap stack: %w", err)
	}
	return s.CloudFormation()
}

// guideTemplate deploys the guide's stack as given, shows that it is refused, and deploys it fixed.
func guideTemplate(ctx context.Context, r *run) ([]string, error) {
	admin, err := r.cluster.AWSSession(ctx, r.cluster.Administrator())
	if err != nil {
		return nil, err
	}
	if err := r.deployGuide(ctx, admin, false); err != nil {
		return nil, err
	}
	if _, err := r.world.CreateAccessEntry(world.AccessEntry{
		Cluster: r.cluster.Name, PrincipalARN: "arn:aws:iam::" + r.world.Account() + ":role/" + guideRole, Type: "EC2_LINUX",
	}); err != nil {
		return nil, fmt.Errorf("map the guide's node role to the cluster: %w", err)
	}
	const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: template}
spec:
  launchTemplate: {name: ` + guideTemplateName + `, version: $Latest}
` + subnets
	if err := r.cluster.Apply(ctx, []byte(strings.ReplaceAll(class, "${CLUSTER_NAME}", r.cluster.Name))); err != nil {
		return nil, err
	}
	said, err := r.refusal(ctx, "template", awsv1.ConditionTypeLaunchTemplateReady, awsv1.ReasonLaunchTemplateUserDataInvalid)
	if err != nil {
		return nil, err
	}
	r.line("launch template: the guide's text as given is refused: %s", said)
	r.line("launch template: deploying it with | in place of >")
	return nil, r.deployGuide(ctx, admin, true)
}

func (r *run) deployGuide(ctx context.Context, admin *session.Session, fixed bool) error {
	image, err := r.image(world.FamilyAL2)
	if err != nil {
		return err
	}
	cluster, ok := r.world.Cluster(r.cluster.Name)
	if !ok {
		return errors.New("the simulated EKS does not know the cluster")
	}
	group := ""
	for _, g := range r.world.SecurityGroups() {
		if g.Tags["karpenter.sh/discovery"] == r.cluster.Name {
			group = g.ID
		}
	}
	tags := map[string]string{"karpenter.sh/discovery": r.cluster.Name}
	if _, err := stackdeploy.Deploy(ctx, admin, "KarpenterLaunchTemplateStack", Guide(cluster, image.ID, group, fixed), nil, tags); err != nil {
		return fmt.Errorf("deploy the guide's stack: %w", err)
	}
	return nil
}

// refusal waits until a class says that it can't be used for a reason, and returns its words.
func (r *run) refusal(ctx context.Context, class, condition, reason string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	seen := "no condition " + condition
	for {
		c := &awsv1.EC2NodeClass{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: class}, c); err == nil {
			if is := c.StatusConditions(false).Get(condition); is != nil {
				if seen = is.Reason + ": " + is.Message; is.IsFalse() && is.Reason == reason {
					return seen, nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("EC2NodeClass %s does not say %s; last seen: %s", class, reason, seen)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
