package chart

import "strings"

// hues is how many lines can be told apart; they are those of the dashboard, and each has
// dashes of its own.
const hues = 8

// style has the colours for light pages, and then for dark ones.
const style = `<style>
text{font:12px system-ui,sans-serif;fill:#474f5d}
.head{font-size:15px;font-weight:600;fill:#12161d}.name{font-weight:600;fill:#12161d}.tick{font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}
path{fill:none}.page{fill:#fff}.grid{stroke:#e4e7ec}.axis{stroke:#606979}
.mark{stroke:#606979;stroke-width:1.5;stroke-dasharray:2 3}.line{stroke-width:2;stroke-linejoin:round}
.l0{stroke:#2563b8}.l1{stroke:#c96a12;stroke-dasharray:7 3}.l2{stroke:#0f8468;stroke-dasharray:3 2}.l3{stroke:#9b3f8c;stroke-dasharray:9 3 2 3}
.l4{stroke:#7b6a0a;stroke-dasharray:12 3}.l5{stroke:#3d93c4;stroke-dasharray:5 2 2 2}.l6{stroke:#6a45c2;stroke-dasharray:1 2}.l7{stroke:#a23b4a;stroke-dasharray:9 2 2 2 2 2}
@media (prefers-color-scheme:dark){
text{fill:#b4bcc9}.head,.name{fill:#e9ecf1}.page{fill:#151920}.grid{stroke:#262c37}.axis,.mark{stroke:#8f98a8}
.l0{stroke:#5ba3f5}.l1{stroke:#f2a04e}.l2{stroke:#3ecfa6}.l3{stroke:#df83cf}.l4{stroke:#d5c04a}.l5{stroke:#9bd5f7}.l6{stroke:#ab92ff}.l7{stroke:#ee8b97}
}
</style>
`

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// escaped makes any text one of XML: what no XML may have, not even escaped, becomes the
// sign of what cannot be shown.
func escaped(text string) string {
	return entities.Replace(strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= ' ' && r < 0xfffe || r > 0xffff {
			return r
		}
		return '�'
	}, strings.ToValidUTF8(text, "�")))
}
