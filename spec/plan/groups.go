package plan

import "slices"

// groups returns the connected components of the elements, by index: elements of
// different groups do not affect each other, so each group is planned alone.
func (w *world) groups() [][]int {
	in := make([]int, len(w.elements)) // an element of the same group
	for i := range in {
		in[i] = i
	}
	find := func(i int) int {
		for in[i] != i {
			in[i] = in[in[i]]
			i = in[i]
		}
		return i
	}
	for i := range w.elements {
		for _, links := range w.elements[i].uses {
			for _, l := range links {
				in[find(l.element)] = find(i)
			}
		}
	}
	var groups [][]int
	number := map[int]int{}
	for i := range w.elements {
		root := find(i)
		n, known := number[root]
		if !known {
			n = len(groups)
			number[root] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], i)
	}
	return groups
}

// part returns the world of one group.
func (w *world) part(group []int) *world {
	if len(group) == len(w.elements) {
		return w
	}
	p := &world{elements: make([]element, len(group)), start: make(situation, len(group))}
	number := make(map[int]int, len(group))
	for n, i := range group {
		number[i] = n
	}
	moved := func(all [][]link) [][]link {
		made := make([][]link, len(all))
		for i, links := range all {
			made[i] = slices.Clone(links)
			for j := range made[i] {
				made[i][j].element = number[made[i][j].element]
			}
		}
		return made
	}
	for n, i := range group {
		e := w.elements[i]
		p.elements[n] = element{kind: e.kind, name: e.name, uses: moved(e.uses), usedBy: moved(e.usedBy)}
		p.start[n] = w.start[i]
	}
	return p
}

// add adds the steps of a group's plan to those of other groups.
func (p *partialOrder) add(q partialOrder, group []int) {
	offset := len(p.steps)
	for s, st := range q.steps {
		st.element = group[st.element]
		after := slices.Clone(q.after[s])
		for i := range after {
			after[i] += offset
		}
		p.steps, p.after, p.level = append(p.steps, st), append(p.after, after), append(p.level, q.level[s])
	}
}
