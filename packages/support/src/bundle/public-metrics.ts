import { cleanText, type Scrub } from './clean-text.ts'

/** A label of a sample, in the text exposition format. */
const LABELS = /(?<=[{,][a-zA-Z_]\w*=")(?:[^"\\\n]|\\.)*(?=")/g
/** The labels that the edge sets; patterns of routes look like paths. */
const OWN = /^svc_http_/

/** Metrics for somebody outside: names and numbers as they are, the values of labels cleaned as any text of a plugin. */
export function publicMetrics(text: string, scrub: Scrub): string {
  const cleaned = new Map<string, string>()
  const clean = (value: string): string => {
    const known = cleaned.get(value) ?? cleanText(value, scrub)
    cleaned.set(value, known)
    return known
  }
  return text
    .split('\n')
    .map((line) => (line.startsWith('#') || OWN.test(line) ? scrub(line) : line.replaceAll(LABELS, clean)))
    .join('\n')
}
