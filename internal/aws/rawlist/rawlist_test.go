package rawlist_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/rawlist"
)

// ask has prices answered with a text, and takes the items that have "mine" in them. decoded are the types that the SDK has read.
func ask(t *testing.T, answers ...string) (taken, decoded []string, token string, err error) {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code := http.StatusOK
		if n < len(answers)-1 {
			code = http.StatusServiceUnavailable
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answers[n]))
		n++
	}))
	defer s.Close()
	api := ec2.New(ec2.Options{BaseEndpoint: &s.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: len(answers)})
	out, err := api.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{}, rawlist.Take("spotPriceHistorySet", func() { taken = nil }, func(item []byte) bool {
		if !strings.Contains(string(item), "mine") {
			return false
		}
		taken = append(taken, string(item))
		return true
	}))
	if err != nil {
		return taken, nil, "", err
	}
	for _, p := range out.SpotPriceHistory {
		decoded = append(decoded, string(p.InstanceType))
	}
	return taken, decoded, aws.ToString(out.NextToken), nil
}

const (
	head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<DescribeSpotPriceHistoryResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">` + "\n  <requestId>1</requestId>\n"
	tail = "  <nextToken>more</nextToken>\n</DescribeSpotPriceHistoryResponse>"
)

func of(kind string) string { return "<instanceType>" + kind + "</instanceType>" }

func TestItemsAreTakenAndTheRestIsDecoded(t *testing.T) {
	nested := of("mine-2") + "<x><item><y/></item><item/><lineitem>item></lineitem></x>"
	for name, c := range map[string]struct {
		set            string
		taken, decoded []string
	}{
		"none":           {"<spotPriceHistorySet></spotPriceHistorySet>", nil, nil},
		"empty":          {"<spotPriceHistorySet/>", nil, nil},
		"all":            {"<spotPriceHistorySet><item>" + of("mine") + "</item></spotPriceHistorySet>", []string{of("mine")}, nil},
		"some, indented": {"<spotPriceHistorySet>\n <item>\n" + of("a") + "</item>\n <item>" + of("mine") + "</item>\n<item>" + of("b") + "</item>\n </spotPriceHistorySet>", []string{of("mine")}, []string{"a", "b"}},
		"items in items": {"<spotPriceHistorySet><item>" + nested + "</item><item>" + of("c") + "<x><item/></x></item></spotPriceHistorySet>", []string{nested}, []string{"c"}},
		"a comment":      {"<spotPriceHistorySet><item><!-- </item> -->" + of("mine") + "</item></spotPriceHistorySet>", nil, []string{"mine"}},
		"other elements": {"<spotPriceHistorySet><thing>" + of("mine") + "</thing><item>" + of("mine") + "</item></spotPriceHistorySet>", nil, []string{"mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			taken, decoded, token, err := ask(t, head+c.set+tail)
			if err != nil || token != "more" {
				t.Fatalf("token %q, %v", token, err)
			}
			if !slices.Equal(taken, c.taken) || !slices.Equal(decoded, c.decoded) {
				t.Errorf("taken %q, decoded %q", taken, decoded)
			}
		})
	}
}

func TestABrokenAnswerFails(t *testing.T) {
	whole := head + "<spotPriceHistorySet><item>" + of("mine") + "</item><item>" + of("mine") + "</item></spotPriceHistorySet>" + tail
	for _, cut := range []int{len(head) + 30, len(head) + 70, len(whole) - len(tail) - 3, len(whole) - 5} {
		if _, _, _, err := ask(t, whole[:cut]); err == nil {
			t.Errorf("an answer that ends with %q is read", whole[:cut][cut-20:])
		}
	}
}

func TestTheLastOfSeveralAttemptsCounts(t *testing.T) {
	set := func(kind string) string {
		return head + "<spotPriceHistorySet><item>" + of(kind) + "</item></spotPriceHistorySet>" + tail
	}
	taken, decoded, _, err := ask(t, "<Response><Errors><Error><Code>ServiceUnavailable</Code></Error></Errors></Response>", set("mine"))
	if err != nil || len(taken) != 1 || len(decoded) != 0 {
		t.Errorf("taken %q, decoded %q, %v", taken, decoded, err)
	}
	taken, _, _, err = ask(t, set("mine")[:len(head)+10]) // it ends early, and is not tried again
	if err == nil || len(taken) != 0 {
		t.Errorf("taken %q, %v", taken, err)
	}
}

func TestFieldsOfAnItem(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		" <a>1</a>\n<b/><c></c> ":         "a=1 b= c= ",
		"<a>1</a><b><c>2</c></b>":         "refused",
		"<a>1 &lt; 2</a>":                 "refused",
		"<a>1</a>text":                    "refused",
		"<a>1</b>":                        "refused",
		"<a>1</a":                         "refused",
		"<a":                              "refused",
		`<a xmlns="x">1</a>`:              "refused",
		"<a><!-- x --></a>":               "refused",
		"<instanceType>m5</instanceType>": "instanceType=m5 ",
	} {
		got := ""
		if !rawlist.Fields([]byte(text), func(name, value []byte) { got += fmt.Sprintf("%s=%s ", name, value) }) {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
