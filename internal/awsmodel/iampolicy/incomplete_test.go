package iampolicy

import "testing"

func TestIncompleteARNsStandForAllThatTheyLeaveOut(t *testing.T) {
	const queue = "arn:aws:sqs:eu-west-1:111122223333:demo"
	for pattern, want := range map[string]bool{
		"arn:aws:sqs":                         true,
		"arn:aws:sqs:eu-west-1":               true,
		"arn:aws:sqs:us-east-1":               false,
		"arn:aws:sqs:*:111122223333":          true,
		"arn:aws:sqs:eu-west-1:999988887777":  false,
		"arn:aws:sns":                         false,
		"arn:aws:sqs:eu-west-1:111122223333:": false,
		"arn:*":                               true,
		queue:                                 true,
	} {
		d := &Document{Version: "2012-10-17", Statements: []Statement{{Effect: Allow, Actions: []string{"sqs:ReceiveMessage"}, Resources: []string{pattern}}}}
		c := Call{Caller: Caller{ARN: "arn:aws:iam::111122223333:role/x", Account: "111122223333"}, Action: "sqs:ReceiveMessage", Resource: queue, Context: Context{}}
		if got := Evaluate(c, Policies{Identity: []Named{{Name: "p", Document: d}}, ResourceOwner: "111122223333"}).OK(); got != want {
			t.Errorf("%s: allowed is %v, want %v", pattern, got, want)
		}
	}
}
