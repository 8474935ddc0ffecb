// Package nearest finds the name that a misspelt one probably meant.
package nearest

// Of returns the candidate that takes the fewest letters to insert, delete or
// change to become name, or "" if none is within most of them. Of equally near
// ones the first is taken.
func Of(name string, most int, candidates []string) string {
	best, at := "", most+1
	for _, c := range candidates {
		if d := distance(name, c); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
