package aws

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// A process that does not lead is not told that a class is gone.
func TestCatalogsThatNobodyAsksForAreForgotten(t *testing.T) {
	class := func(i int) *awsv1.EC2NodeClass {
		return &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: types.UID(fmt.Sprint(i))}}
	}
	c := &catalogs{}
	now := time.Unix(0, 0)
	kept := c.of(class(0), now)
	for i := range 100 { // each class lives half an hour
		c.of(class(1+i), now)
		now = now.Add(catalogIdle / 2)
		if c.of(class(0), now) != kept {
			t.Fatal("a class that is asked for has lost its catalog")
		}
	}
	if n := len(c.classes); n > 4 {
		t.Errorf("the catalogs of %d classes are kept", n)
	}
}
