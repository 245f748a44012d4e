package history

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// lines reads a log of one event a line: as CloudWatch Logs exports it to S3 (a time, a space, the message), as
// "aws logs tail" prints it (a time, the stream, the message), or as an API server writes it (the message).
//
// Source: darold/pgbadger#521 and #654 show exported files: <prefix>/<task>/<stream>/000000.gz, lines "2019-08-09T18:00:00.000Z …".
//
// Errors: the file ends too early, as a gzip that is cut off does.
func (r *reading) lines(in *bufio.Reader, c *counter) error {
	var buffer []byte
	for {
		line, size, err := nextLine(in, &buffer)
		c.n += size
		if errors.Is(err, io.EOF) && size == 0 {
			return nil
		}
		r.line++
		switch {
		case errors.Is(err, errLong):
			r.bad(err)
			continue
		case err != nil:
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		r.message(line, time.Time{})
	}
}

// message reads one message of a log: an audit event, with or without a time and a stream before it. Other logs of the
// control plane lie in the same log group; what is none of an audit event is passed over.
func (r *reading) message(text []byte, at time.Time) {
	i := bytes.IndexByte(text, '{')
	if i < 0 {
		return
	}
	if i > 0 {
		if t, ok := leadingTime(text[:i]); ok {
			at = t
		}
		text = text[i:]
	}
	if !bytes.Contains(text, []byte("audit.k8s.io/")) {
		if i == 0 && !json.Valid(text) {
			r.bad(errors.New("it is no JSON"))
		}
		return
	}
	if err := r.audit(text, at); err != nil {
		r.bad(err)
		return
	}
	r.took(fromAudit)
}

// leadingTime is the time that a line begins with.
func leadingTime(prefix []byte) (time.Time, bool) {
	word, _, _ := strings.Cut(string(prefix), " ")
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, word); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// logEntry is an entry of filter-log-events, get-log-events or a subscription: all have these.
type logEntry struct {
	Timestamp int64 // Unix milliseconds
	Message   *string
}

// entry reads one entry of a log.
//
// Errors: it is none.
func (r *reading) entry(raw []byte) error {
	var e logEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	if e.Message == nil {
		return errors.New("the entry has no message")
	}
	at := time.Time{}
	if e.Timestamp > 0 {
		at = time.UnixMilli(e.Timestamp).UTC()
	}
	r.message([]byte(*e.Message), at)
	return nil
}

// insight reads one result of CloudWatch Logs Insights, as the API has it: a list of fields with their values.
func (r *reading) insight(raw []byte) error {
	var fields []struct{ Field, Value string }
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	row := map[string]string{}
	for _, f := range fields {
		row[f.Field] = f.Value
	}
	return r.insightRow(row["@timestamp"], row["@message"])
}

// insightRow reads one result by its fields.
func (r *reading) insightRow(at, message string) error {
	if message == "" {
		return errors.New("the result has no @message: query with `fields @timestamp, @message`")
	}
	r.message([]byte(message), insightTime(at))
	return nil
}

// insightTime is a time as Insights prints it.
//
// Source: CloudWatch Logs user guide, "CloudWatch Logs Insights": 2026-11-26 08:30:00.000, in UTC; tables that are copied
// from the console may have the form of RFC 3339, and Unix milliseconds where the query asks for them.
func insightTime(text string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// table reads results of CloudWatch Logs Insights as the console exports them: CSV with the fields' names in the first line.
//
// Errors: the file can't be read to its end.
func (r *reading) table(in io.Reader) error {
	c := csv.NewReader(in)
	c.ReuseRecord, c.FieldsPerRecord, c.LazyQuotes = true, -1, true
	at, message := -1, -1
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.line, _ = c.FieldPos(0)
		if message < 0 {
			for i, name := range row {
				switch strings.TrimSpace(name) {
				case "@timestamp":
					at = i
				case "@message":
					message = i
				}
			}
			if message < 0 {
				return errors.New("the first line has no column @message")
			}
			continue
		}
		if message >= len(row) {
			r.bad(errors.New("the row has no @message"))
			continue
		}
		when := ""
		if at >= 0 && at < len(row) {
			when = row[at]
		}
		if err := r.insightRow(when, row[message]); err != nil {
			r.bad(err)
		}
	}
}
