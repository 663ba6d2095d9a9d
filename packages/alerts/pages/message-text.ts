/** What of an alert says whom it is about. */
interface About {
  readonly rule: string
  readonly subject: string
  readonly label: string | null
  readonly message: string
}

/** The subject is a SIM. */
const HASH = /^[0-9a-f]{12}$/

/** Whether an alert is about a SIM. */
export function isOfSim({ subject }: Pick<About, 'subject'>): boolean {
  return HASH.test(subject)
}

/** The message with the name of the SIM in place of its hash. */
export function messageText({ subject, label, message }: About): string {
  return label === null || !isOfSim({ subject }) ? message : message.replace(`SIM ${subject}`, label)
}

/** Without what a graver alert of the same SIM says in the same words, whatever the numbers: 80 % is used where all of it is. */
export function withoutRepeats<One extends About>(gravestFirst: readonly One[]): readonly One[] {
  const said = new Set<string>()
  return gravestFirst.filter((one) => {
    const words = `${one.subject} ${one.message.replaceAll(/\d+/g, '')}`
    const isRepeat = isOfSim(one) && said.has(words)
    said.add(words)
    return !isRepeat
  })
}
