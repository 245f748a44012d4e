package disrupt

// Mechanisms are those that Loop.Without can name. What each of them earns is measured by the ledger of simcluster:
//
//	make ledger WITHOUT=waits
var Mechanisms = []string{
	"waits",     // a move of small savings stands as long as it takes to pay back
	"turns",     // of small savings few are under way at a time
	"findings",  // what could be saved all the time is saved though the nodes change
	"onto",      // a move waits for the consolidateAfter of the underutilized nodes that take its pods
	"horizon",   // how long a saving lasts is learned; without it, a day
	"regrowth",  // how much of a saving is launched again is learned
	"misplaced", // how much is launched again because pods do not lie as planned is learned
	"hold",      // nodes are left alone that a move has just filled or launched
	"breaker",
}

func (l *Loop) without(mechanism string) bool { return l.Without[mechanism] }
