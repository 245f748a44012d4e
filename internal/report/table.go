package report

// Table is rows under named columns. Rows beyond Fold are folded away until the reader opens them; they are printed in any case.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
	// Fold is how many rows are shown at first; 0: all.
	Fold int
	// Empty is said where there is no row.
	Empty string
}

// Column is a column of a table.
type Column struct {
	Title string
	// Number aligns the column to the right.
	Number bool
}

// Cell is one value of a table.
type Cell struct {
	Text   string
	Detail string // below the text in small type; may be empty
	Tone   Tone
}

// Cells makes a row of texts.
func Cells(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

type tableView struct {
	Table
	First, More [][]cellView
}

type cellView struct {
	Cell
	Number bool
}

func (t Table) block() (string, any) {
	view := tableView{Table: t}
	for i, row := range t.Rows {
		cells := make([]cellView, len(row))
		for j, c := range row {
			cells[j] = cellView{Cell: c, Number: j < len(t.Columns) && t.Columns[j].Number}
		}
		// One row alone is not folded: the line that opens the fold would take as much room.
		if t.Fold > 0 && i >= t.Fold && len(t.Rows) > t.Fold+1 {
			view.More = append(view.More, cells)
		} else {
			view.First = append(view.First, cells)
		}
	}
	return "table", view
}
