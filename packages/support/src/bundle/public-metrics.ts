import { cleanText, type Scrub } from './clean-text.ts'

/** A label of a sample, in the text exposition format. */
const LABELS = /(?<=[{,][a-zA-Z_]\w*=")(?:[^"\\\n]|\\.)*(?=")/g
/** The labels that the edge sets; patterns of routes look like paths. */
const OWN = /^svc_http_/

/**
 * Metrics for somebody outside: names and numbers as they are, the values of labels cleaned as any text of a plugin. A value stands in
 * hundreds of lines and is cleaned once.
 */
export function publicMetrics(text: string, scrub: Scrub): string {
  const clean = onceEach((value) => cleanText(value, scrub))
  const own = onceEach(scrub)
  return text
    .split('\n')
    .map((line) =>
      line.startsWith('#') ? scrub(line) : line.replaceAll(LABELS, OWN.test(line) ? own : clean),
    )
    .join('\n')
}

function onceEach(work: Scrub): Scrub {
  const known = new Map<string, string>()
  return (value) => {
    const done = known.get(value) ?? work(value)
    known.set(value, done)
    return done
  }
}
