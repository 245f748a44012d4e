package awserr

import "testing"

func TestWhatARefusalIsOf(t *testing.T) {
	const mayNot = "You are not authorized to perform this operation. User: arn:aws:sts::1:assumed-role/x/y is not authorized to perform: "
	const ec2 = " on resource: arn:aws-cn:ec2:cn-north-1:1:"
	for message, want := range map[string]struct{ instance, subnet, forbids bool }{
		mayNot + "ec2:RunInstances" + ec2 + "instance/* with an explicit deny in a service control policy":                   {true, false, true},
		mayNot + "ec2:CreateFleet" + ec2 + "instance/* because no permissions boundary allows the ec2:CreateFleet action":    {true, false, true},
		mayNot + "ec2:RunInstances" + ec2 + "instance/* because no identity-based policy allows the ec2:RunInstances action": {true, false, false},
		mayNot + "ec2:RunInstances": {true, false, false},
		mayNot + "ec2:RunInstances" + ec2 + "subnet/subnet-1 with an explicit deny in an identity-based policy":                       {false, true, true},
		mayNot + "ec2:RunInstances" + ec2 + "image/ami-1 with an explicit deny in a service control policy":                           {false, false, true},
		mayNot + "ec2:CreateTags" + ec2 + "instance/* with an explicit deny in a service control policy":                              {false, false, true},
		mayNot + "iam:PassRole on resource: arn:aws:iam::1:role/node because no identity-based policy allows the iam:PassRole action": {false, false, false},
		mayNot + "iam:PassRole on resource: arn:aws:iam::1:instance-profile/node with an explicit deny in an identity-based policy":   {false, false, true},
		"You are not authorized to perform this operation: explicit deny in a service control policy.":                                {true, false, true},
		"You are not authorized to perform this operation. Encoded authorization failure message: 4h2bJ":                              {},
		"": {},
	} {
		if RefusesInstance(message) != want.instance || RefusesSubnet(message) != want.subnet || Forbids(message) != want.forbids {
			t.Errorf("%q: of the instance %t, of the subnet %t, by a policy that forbids %t; want %+v", message,
				RefusesInstance(message), RefusesSubnet(message), Forbids(message), want)
		}
	}
}
