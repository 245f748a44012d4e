package changeplan

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Check judges an object with no API server: its fields, by the definitions that this kerf brings, and what the controller checks
// of it. It returns the object with its defaults, an *karpv1.NodePool or an *awsv1.EC2NodeClass. Rules in CEL are not evaluated;
// those that the controller relies on are among what it checks.
//
// Errors: *At, joined.
func (d *Document) Check() (client.Object, error) {
	var into client.Object = &karpv1.NodePool{}
	if d.Kind == KindClass {
		into = &awsv1.EC2NodeClass{}
	}
	if err := d.checkHere(d.merged(nil), into); err != nil {
		return nil, err
	}
	return into, nil
}
