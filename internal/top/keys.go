package top

import "strings"

// binding is a key and what it does.
type binding struct{ keys, does string }

// bindings are all keys. update.go carries them out.
var bindings = []binding{
	{"up down, j k", "move the cursor; Page Up, Page Down, Home and End go further"},
	{"Enter", "open what the cursor is on: why a node is kept, why a pod waits, what was decided; closes and opens a NodePool"},
	{"Esc, q", "go back; q quits where there is nothing to go back to"},
	{"Tab, 1 to 7", "the next list, or one of them; Shift-Tab goes to the one before"},
	{"/", "list only nodes that have these words in their name, NodePool, type, zone, capacity type, state or workloads"},
	{"s", "sort nodes by name, price, use (the emptiest first), age or what removing them would save"},
	{"r", "turn the order round"},
	{"g", "group nodes by NodePool"},
	{"p", "in the text about a node: go to its pods"},
	{"?", "this page"},
	{"Ctrl-C", "quit; Ctrl-Z pauses, fg goes on"},
}

// legend explains the screen.
var legend = []string{
	"USE is the resource of which the largest part is asked for: DaemonSets, then pods, then free room.",
	"floor is the least that these pods could cost, proved; (+%) is how much more runs.",
	"\"would save\": what removing the node would save if nothing kept it.",
	"Red is a problem, yellow on its way or being removed, grey not launched by Kerf.",
	"Nothing is changed from here. kerf status has the same for scripts, kerf ui as a page.",
}

// help is the page that explains keys and screen.
func help() *detail {
	const column = 15
	d := &detail{title: "kerf top: keys and figures", indent: column}
	for _, b := range bindings {
		d.head = append(d.head, b.keys+strings.Repeat(" ", column-len(b.keys))+b.does)
	}
	d.head = append(d.head, "")
	d.head = append(d.head, legend...)
	return d
}
