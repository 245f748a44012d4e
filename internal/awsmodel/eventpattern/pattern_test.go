package eventpattern

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// instance is a state change as EC2 reports it, with more kinds of values than EC2 uses.
const instance = `{
  "version": "0", "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718", "detail-type": "EC2 Instance State-change Notification",
  "source": "aws.ec2", "account": "111122223333", "time": "2017-12-22T18:43:48Z", "region": "us-west-1",
  "resources": ["arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0"],
  "detail": {
    "instance-id": "i-1234567890abcdef0", "state": "terminated", "c-count": 5, "d-count": 0, "x-limit": 3.018e2,
    "source-ip": "10.0.0.123", "v6": "2001:db8::1", "responseElements": null, "ok": true, "empty": "", "none": [], "file": "dir/a.PNG",
    "tags": ["red", "green"],
    "affectedEntities": [{"entityValue": "i-1", "status": "OPEN"}, {"entityValue": "i-2", "status": "CLOSED", "region": "x"}]
  }}`

func TestMatch(t *testing.T) {
	for name, tt := range map[string]struct {
		pattern string
		want    bool
	}{
		"an exact value":                                         {`{"source":["aws.ec2"]}`, true},
		"another value":                                          {`{"source":["aws.health"]}`, false},
		"one of several values":                                  {`{"source":["aws.health","aws.ec2"]}`, true},
		"all fields must match":                                  {`{"source":["aws.ec2"],"detail-type":["AWS Health Event"]}`, false},
		"a nested field":                                         {`{"detail":{"state":["terminated"]}}`, true},
		"a field that is not there":                              {`{"detail":{"other":["terminated"]}}`, false},
		"values are compared with case":                          {`{"source":["AWS.EC2"]}`, false},
		"a value within a list":                                  {`{"resources":["arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0"]}`, true},
		"one of the values in a list of the event":               {`{"detail":{"tags":["blue","green"]}}`, true},
		"none of the values in a list of the event":              {`{"detail":{"tags":["blue"]}}`, false},
		"an empty list has no value":                             {`{"detail":{"none":["x"]}}`, false},
		"a number as it is written":                              {`{"detail":{"c-count":[5]}}`, true},
		"a number written in another way":                        {`{"detail":{"c-count":[5.0]}}`, false},
		"a number is not a string":                               {`{"detail":{"c-count":["5"]}}`, false},
		"null":                                                   {`{"detail":{"responseElements":[null]}}`, true},
		"null is not the empty string":                           {`{"detail":{"empty":[null]}}`, false},
		"the empty string":                                       {`{"detail":{"empty":[""]}}`, true},
		"a boolean":                                              {`{"detail":{"ok":[true]}}`, true},
		"the other boolean":                                      {`{"detail":{"ok":[false]}}`, false},
		"an object is not a value":                               {`{"detail":["terminated"]}`, false},
		"a value is not an object":                               {`{"source":{"x":["aws.ec2"]}}`, false},
		"prefix":                                                 {`{"time":[{"prefix":"2017-12-"}]}`, true},
		"another prefix":                                         {`{"time":[{"prefix":"2018"}]}`, false},
		"an empty prefix takes any string":                       {`{"time":[{"prefix":""}]}`, true},
		"prefix with case":                                       {`{"source":[{"prefix":"AWS."}]}`, false},
		"prefix without case":                                    {`{"source":[{"prefix":{"equals-ignore-case":"AWS."}}]}`, true},
		"prefix does not take numbers":                           {`{"detail":{"c-count":[{"prefix":"5"}]}}`, false},
		"suffix":                                                 {`{"detail":{"file":[{"suffix":".PNG"}]}}`, true},
		"suffix with case":                                       {`{"detail":{"file":[{"suffix":".png"}]}}`, false},
		"suffix without case":                                    {`{"detail":{"file":[{"suffix":{"equals-ignore-case":".png"}}]}}`, true},
		"equals-ignore-case":                                     {`{"detail-type":[{"equals-ignore-case":"ec2 instance State-change notification"}]}`, true},
		"equals-ignore-case of another text":                     {`{"detail-type":[{"equals-ignore-case":"ec2 instance"}]}`, false},
		"anything-but a value that is not there":                 {`{"detail":{"state":[{"anything-but":"initializing"}]}}`, true},
		"anything-but the value":                                 {`{"detail":{"state":[{"anything-but":"terminated"}]}}`, false},
		"anything-but a list without the value":                  {`{"detail":{"state":[{"anything-but":["stopped","overloaded"]}]}}`, true},
		"anything-but a list with the value":                     {`{"detail":{"state":[{"anything-but":["stopped","terminated"]}]}}`, false},
		"anything-but another number":                            {`{"detail":{"c-count":[{"anything-but":123}]}}`, true},
		"anything-but numbers with the value":                    {`{"detail":{"c-count":[{"anything-but":[1,5]}]}}`, false},
		"anything-but wants the field to be there":               {`{"detail":{"other":[{"anything-but":"x"}]}}`, false},
		"anything-but another prefix":                            {`{"detail":{"state":[{"anything-but":{"prefix":"init"}}]}}`, true},
		"anything-but the prefix":                                {`{"detail":{"state":[{"anything-but":{"prefix":"term"}}]}}`, false},
		"anything-but prefixes":                                  {`{"detail":{"state":[{"anything-but":{"prefix":["init","term"]}}]}}`, false},
		"anything-but the suffix":                                {`{"detail":{"state":[{"anything-but":{"suffix":"ed"}}]}}`, false},
		"anything-but another suffix":                            {`{"detail":{"state":[{"anything-but":{"suffix":[".txt",".rtf"]}}]}}`, true},
		"anything-but without case":                              {`{"detail":{"state":[{"anything-but":{"equals-ignore-case":["INIT","TERMINATED"]}}]}}`, false},
		"anything-but a wildcard":                                {`{"detail":{"file":[{"anything-but":{"wildcard":"*/lib/*"}}]}}`, true},
		"anything-but a wildcard that takes it":                  {`{"detail":{"file":[{"anything-but":{"wildcard":["x*","dir/*"]}}]}}`, false},
		"exists":                                                 {`{"detail":{"state":[{"exists":true}]}}`, true},
		"exists of null":                                         {`{"detail":{"responseElements":[{"exists":true}]}}`, true},
		"exists of a field that is not there":                    {`{"detail":{"other":[{"exists":true}]}}`, false},
		"exists looks at values, not at objects":                 {`{"detail":[{"exists":true}]}`, false},
		"an object does not exist as a value":                    {`{"detail":[{"exists":false}]}`, true},
		"not exists":                                             {`{"detail":{"other":[{"exists":false}]}}`, true},
		"not exists of a field that is there":                    {`{"detail":{"state":[{"exists":false}]}}`, false},
		"not exists below what is not there":                     {`{"detail":{"no":{"such":[{"exists":false}]}}}`, true},
		"not exists of what one element has":                     {`{"detail":{"affectedEntities":{"region":[{"exists":false}]}}}`, false},
		"not exists, or a value":                                 {`{"detail":{"state":[{"exists":false},"terminated"]}}`, true},
		"numeric range":                                          {`{"detail":{"c-count":[{"numeric":[">",0,"<=",5]}]}}`, true},
		"numeric range, outside":                                 {`{"detail":{"c-count":[{"numeric":[">",0,"<",5]}]}}`, false},
		"numeric less":                                           {`{"detail":{"d-count":[{"numeric":["<",10]}]}}`, true},
		"numeric equal, written in another way":                  {`{"detail":{"x-limit":[{"numeric":["=",301.8]}]}}`, true},
		"numeric at least":                                       {`{"detail":{"c-count":[{"numeric":[">=",5]}]}}`, true},
		"numeric does not take strings":                          {`{"account":[{"numeric":[">",0]}]}`, false},
		"cidr":                                                   {`{"detail":{"source-ip":[{"cidr":"10.0.0.0/24"}]}}`, true},
		"cidr of another block":                                  {`{"detail":{"source-ip":[{"cidr":"10.0.1.0/24"}]}}`, false},
		"cidr of six":                                            {`{"detail":{"v6":[{"cidr":"2001:db8::/32"}]}}`, true},
		"cidr of a text that is no address":                      {`{"source":[{"cidr":"0.0.0.0/0"}]}`, false},
		"wildcard":                                               {`{"detail":{"file":[{"wildcard":"dir/*.PNG"}]}}`, true},
		"wildcard for nothing":                                   {`{"source":[{"wildcard":"aws.*ec2"}]}`, true},
		"wildcard with a middle":                                 {`{"resources":[{"wildcard":"arn:*:ec2:*:instance/*"}]}`, true},
		"wildcard whose middle is missing":                       {`{"resources":[{"wildcard":"arn:*:sqs:*"}]}`, false},
		"wildcard does not use a character twice":                {`{"source":[{"wildcard":"aws.ec*c2"}]}`, false},
		"wildcard with an escaped star":                          {`{"source":[{"wildcard":"aws\\*"}]}`, false},
		"$or, first":                                             {`{"$or":[{"source":["aws.ec2"]},{"source":["x"]}]}`, true},
		"$or, second":                                            {`{"detail":{"$or":[{"c-count":[{"numeric":[">",10]}]},{"d-count":[{"numeric":["<",1]}]}]}}`, true},
		"$or, none":                                              {`{"$or":[{"source":["y"]},{"source":["x"]}]}`, false},
		"$or and another field":                                  {`{"source":["x"],"$or":[{"account":["111122223333"]},{"region":["x"]}]}`, false},
		"fields of one element of a list":                        {`{"detail":{"affectedEntities":{"entityValue":["i-2"],"status":["CLOSED"]}}}`, true},
		"fields of two elements of a list are not put together":  {`{"detail":{"affectedEntities":{"entityValue":["i-1"],"status":["CLOSED"]}}}`, false},
		"the rule for spot warnings":                             {`{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`, false},
		"the rule for state changes":                             {`{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}`, true},
		"a key with a dot is one key":                            {`{"detail.state":["terminated"]}`, false},
		"escapes in the pattern's text":                          {`{"source":["aws\u002eec2"]}`, true},
		"two filters of one field are alternatives":              {`{"source":[{"prefix":"x"},{"suffix":"ec2"}]}`, true},
		"a list of events' lists":                                {`{"detail":{"none":[{"exists":false}]}}`, true},
		"numeric with decimals that a computer cannot write":     {`{"detail":{"x-limit":[{"numeric":[">",301.79999,"<",301.80001]}]}}`, true},
		"a field that is named $or":                              {`{"$or":["x"]}`, false},
		"anything-but is true of null, which is a value as well": {`{"detail":{"responseElements":[{"anything-but":"x"}]}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse([]byte(tt.pattern))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Match([]byte(instance)); got != tt.want {
				t.Errorf("%s: match is %t, want %t", tt.pattern, got, tt.want)
			}
			var v map[string]any
			if err := json.Unmarshal([]byte(instance), &v); err != nil {
				t.Fatal(err)
			}
			if e, ok := Read(instance); !ok || p.Match(e) != tt.want {
				t.Errorf("%s: match of the event that was read is not %t", tt.pattern, tt.want)
			}
			if strings.Contains(tt.pattern, "x-limit") {
				return
			}
			if got := p.Match(v); got != tt.want {
				t.Errorf("%s: match of the decoded event is %t, want %t", tt.pattern, got, tt.want)
			}
		})
	}
}

func TestMatchNothing(t *testing.T) {
	p, err := Parse([]byte(`{"a":[{"exists":false}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []any{[]byte(""), []byte("{"), "[]", "3", nil, func() {}, "{} {}", Event{}} {
		if p.Match(event) {
			t.Errorf("%v is no event, but is matched", event)
		}
	}
	if !p.Match("{}") {
		t.Error("the empty event has no a, but is not matched")
	}
}

func TestParseErrors(t *testing.T) {
	for name, tt := range map[string]struct{ pattern, path, reason string }{
		"not JSON":                        {`{"a":`, "", "is not JSON"},
		"two values":                      {`{"a":["b"]} {}`, "", "more than one value"},
		"a list":                          {`[]`, "", "must be a JSON object, it is a list"},
		"nothing wanted":                  {`{}`, "", "empty object"},
		"nothing wanted below":            {`{"detail":{}}`, "detail", "empty object"},
		"a string where a list is needed": {`{"source":"aws.ec2"}`, "source", `it is a string; write ["aws.ec2"]`},
		"a number below":                  {`{"detail":{"n":{"m":3}}}`, "detail.n.m", "it is a number; write [3]"},
		"an empty list":                   {`{"source":[]}`, "source", "empty list"},
		"a list in a list":                {`{"source":[["a"]]}`, "source", "a list within its list"},
		"an unknown filter":               {`{"source":[{"preffix":"a"}]}`, "source", `unknown filter "preffix"`},
		"two filters in one":              {`{"source":[{"prefix":"a","suffix":"b"}]}`, "source", "unknown filter"},
		"an empty filter":                 {`{"source":[{}]}`, "source", "unknown filter"},
		"a key twice":                     {`{"source":["a"],"source":["b"]}`, "source", "is there twice"},
		"prefix of a number":              {`{"a":[{"prefix":3}]}`, "a", "prefix wants a string"},
		"prefix of another filter":        {`{"a":[{"prefix":{"suffix":"x"}}]}`, "a", "prefix wants a string"},
		"exists with a text":              {`{"a":[{"exists":"yes"}]}`, "a", "exists wants true or false"},
		"numeric without a number":        {`{"a":[{"numeric":[">"]}]}`, "a", "numeric wants a list"},
		"numeric with a text":             {`{"a":[{"numeric":[">","3"]}]}`, "a", "numeric wants numbers"},
		"numeric out of bounds":           {`{"a":[{"numeric":[">",5000000001]}]}`, "a", "between -5e9 and 5e9"},
		"numeric with another operator":   {`{"a":[{"numeric":["!=",3]}]}`, "a", "wants one of = > >= < <="},
		"numeric with two lower bounds":   {`{"a":[{"numeric":[">",3,">",4]}]}`, "a", "lower bound followed by an upper"},
		"cidr of a text":                  {`{"a":[{"cidr":"ten"}]}`, "a", "cidr wants a block"},
		"anything-but of nothing":         {`{"a":[{"anything-but":[]}]}`, "a", "empty list"},
		"anything-but of a mix":           {`{"a":[{"anything-but":["a",3]}]}`, "a", "only strings or only numbers"},
		"anything-but null":               {`{"a":[{"anything-but":null}]}`, "a", "wants strings, numbers, or a filter"},
		"anything-but of exists":          {`{"a":[{"anything-but":{"exists":true}}]}`, "a", "takes prefix, suffix"},
		"anything-but an empty prefix":    {`{"a":[{"anything-but":{"prefix":""}}]}`, "a", "empty string"},
		"anything-but of no prefix":       {`{"a":[{"anything-but":{"prefix":[]}}]}`, "a", "empty list"},
		"two stars":                       {`{"a":[{"wildcard":"a**"}]}`, "a", "two * in a row"},
		"an open escape":                  {`{"a":[{"wildcard":"a\\"}]}`, "a", "is not followed by"},
		"equals-ignore-case of a number":  {`{"a":[{"equals-ignore-case":3}]}`, "a", "wants a string"},
		"$or with one alternative":        {`{"$or":[{"a":["b"]}]}`, "$or", "unknown filter"},
		"$or with an empty alternative":   {`{"$or":[{"a":["b"]},{}]}`, "", "empty object"},
		"$or with something wrong inside": {`{"d":{"$or":[{"a":["b"]},{"c":3}]}}`, "d.c", "must be an object or a list"},
		"too deep":                        {strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000), "", "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.pattern))
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Path != tt.path || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("error is %v (%#v), want path %q and reason with %q", err, e, tt.path, tt.reason)
			}
		})
	}
}

func FuzzParseAndMatch(f *testing.F) {
	f.Add([]byte(`{"source":["aws.ec2"]}`), []byte(instance))
	f.Add([]byte(`{"detail":{"x":[{"anything-but":{"wildcard":"a*b"}},{"numeric":[">",1]}]}}`), []byte(`{"detail":{"x":[1,"ab"]}}`))
	f.Add([]byte(`{"$or":[{"a":[{"exists":false}]},{"b":[{"cidr":"::/0"}]}]}`), []byte(`{"b":"::1"}`))
	f.Fuzz(func(t *testing.T, pattern, event []byte) {
		p, err := Parse(pattern)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error is %T", err)
			}
			return
		}
		first := p.Match(event)
		if p.Match(event) != first {
			t.Fatal("the same event is matched once and once not")
		}
		if first && !json.Valid(event) {
			t.Fatal("what is not JSON is matched")
		}
	})
}
