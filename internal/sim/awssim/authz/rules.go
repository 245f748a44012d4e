package authz

import "maps"

// rule says which checks a call needs, in the order in which they are made.
type rule func(*call) []check

// rules is the table: by action, or by action and the operation whose handler asks about it.
var rules = allRules()

func allRules() map[string]rule {
	out := map[string]rule{}
	for _, service := range []map[string]rule{
		ec2Rules(), iamRules(), stsRules(), sqsRules(), ssmRules(), eksRules(), eventsRules(), kmsRules(), cloudwatchRules(), arcRules(),
		cloudformationRules(), {"pricing:GetProducts": anywhere("pricing:GetProducts")},
	} {
		maps.Copy(out, service)
	}
	return out
}

// anywhere is the rule of an action that knows no resources.
func anywhere(action string) rule {
	return func(*call) []check { return []check{{action: action, resource: "*"}} }
}

// free is the rule of what needs no permission, or is judged by the handler.
func free(*call) []check { return nil }

// on is the rule of an action on one resource.
func on(action string, resource func(*call) string) rule {
	return func(c *call) []check { return []check{{action: action, resource: resource(c)}} }
}

// each adds the rules of a service for actions that go one way.
func each(into map[string]rule, service string, make func(action string) rule, operations ...string) {
	for _, o := range operations {
		into[service+":"+o] = make(service + ":" + o)
	}
}
