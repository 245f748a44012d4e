package dependency

import "testing"

// TestAFailedLaunchIsWhatIsTold: of calls that fail, pods wait for launches.
func TestAFailedLaunchIsWhatIsTold(t *testing.T) {
	h := New(nil)
	for _, operation := range []string{"DescribeImages", "CreateFleet", "DescribeSubnets", "DescribeImages"} {
		h.begin("EC2", operation)(failed, operation+" fails")
	}
	if s := h.States()[0]; s.Answers || s.Operation != "CreateFleet" || s.Error != "CreateFleet fails" {
		t.Errorf("%+v, want the launch that failed", s)
	}
	h.begin("EC2", "DescribeImages")(answered, "")
	for range 3 {
		h.begin("EC2", "DescribeImages")(failed, "again")
	}
	if s := h.States()[0]; s.Operation == "CreateFleet" {
		t.Errorf("%+v is of a failure before the last answer", s)
	}
}
