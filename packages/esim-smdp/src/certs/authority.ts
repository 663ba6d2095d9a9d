/**
 * Who answers for the EIDs of eUICCs: `own` for every CI whose key is here, `test` for every one whose key is published, else
 * the key identifier of the CI. An EID is a name that each of them can give, so it counts only together with this.
 */
export type Authority = string

/** Subject key identifiers of the CIs of SGP.26, versions 1 to 3: the GSMA publishes their private keys. */
const PUBLISHED: ReadonlySet<string> = new Set([
  'f54172bdf98a95d65cbeb88a38a1c11d800a85c3',
  'c0bc70ba36929d43b467ff57570530e57ab8fcd8',
  '34eecf13156518d48d30bdf06853404d115f955d',
  '2209f61cd9ec5c9c854e787341ff83ecf9776a5b',
])

/** Why such a CI has no place beside another one. */
export const PUBLISHED_WORDS =
  'the private key of this CI (SGP.26) is published, so anybody can make eUICCs and profiles under it'

/** Whether everybody can have the private key of that CI. */
export function isPublished(ciPkid: string): boolean {
  return PUBLISHED.has(ciPkid.toLowerCase())
}

export function authorityOf(ciPkid: string, isKeyHere: boolean): Authority {
  if (isPublished(ciPkid)) return 'test'
  return isKeyHere ? 'own' : ciPkid
}

/** The only one of these sets, a published one aside when there is another; undefined when there are several or none. */
export function onlyAuthority(sets: readonly { readonly authority: Authority }[]): Authority | undefined {
  const all = new Set(sets.map(({ authority }) => authority))
  if (all.size > 1) all.delete('test')
  const [one] = all
  return all.size === 1 ? one : undefined
}
