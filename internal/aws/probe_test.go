package aws_test

import (
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

// TestAClassIsTriedWithATypeThatBootsTheImage: what a class asks for may be had in one architecture only, or in the other as well, and
// its images are for both.
func TestAClassIsTriedWithATypeThatBootsTheImage(t *testing.T) {
	for name, edit := range map[string]func(*awsv1.EC2NodeClass){
		"anything": func(*awsv1.EC2NodeClass) {},
		"enclaves": func(c *awsv1.EC2NodeClass) { c.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} },
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			p := newProvider(t, s, nil)
			ready(t, p)
			class := newClass(s)
			edit(class)
			resolve(t, p, class)
		})
	}
}
