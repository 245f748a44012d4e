// Package stack describes what an account needs before the controller can work in it: the role of the nodes, the
// permissions and the role of the controller, the interruption queue with its policy and key, the rules that feed it and
// the alarms that watch it. One model is written as CloudFormation, as Terraform and as plain IAM policies.
//
// Names, logical IDs and statement IDs are those that the getting-started guides of the v1 API have used all along, so
// that a stack which exists is updated in place.
package stack
