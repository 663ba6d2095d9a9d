import { useEffect, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { t } from '../text/index.ts'
import { ifPage } from './pages-here.ts'
import { navigate } from './router.ts'

/** Something that the palette finds. */
export interface Entry {
  readonly name: string
  /** What kind of thing it is, where its name does not say so. */
  readonly kind?: string
  readonly key: string
  readonly go: () => void
}

/** One letter is in every name. */
const LEAST_LETTERS = 2
/** Typing goes on meanwhile. */
const PAUSE_MS = 150
const MOST_OF_A_KIND = 5
/** No list has a search of its own for these: as many as one page has. */
const LOOKED_THROUGH = 500

/** What the box has by a part of its name: SIMs, who is online by an address, people. Kept while the next text is looked up. */
export function useFound(text: string): readonly Entry[] {
  const [found, setFound] = useState<readonly Entry[]>([])
  const asked = text.trim()
  useEffect(() => {
    if (asked.length < LEAST_LETTERS) {
      setFound([])
      return undefined
    }
    let isOver = false
    const timer = setTimeout(async () => {
      const kinds = await Promise.all([sims(asked), sessions(asked), people(asked)])
      if (!isOver) setFound(kinds.flatMap((kind) => kind.slice(0, MOST_OF_A_KIND)))
    }, PAUSE_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [asked])
  return found
}

/** By the label, the hash, the last digits of the ICCID or of the number. */
async function sims(q: string): Promise<readonly Entry[]> {
  const result = await api.get('/v1/sims', { query: { q, limit: MOST_OF_A_KIND } })
  if (!result.ok) return []
  return result.data.sims.flatMap(({ imsi_sha256_12: hash, label, iccid_last4 }) =>
    entry(`/sims/${hash}`, t('app.palette.sim'), [
      label ?? hash,
      iccid_last4 === null ? '' : `…${iccid_last4}`,
    ]),
  )
}

/** Who has an address, for what a log or a firewall shows. */
async function sessions(text: string): Promise<readonly Entry[]> {
  if (!/^[0-9a-f]+[.:][0-9a-f.:]*$/i.test(text)) return []
  const result = await api.get('/v1/sessions', { query: { limit: LOOKED_THROUGH } })
  if (!result.ok) return []
  return result.data.sessions
    .filter(({ ue_ip }) => ue_ip?.startsWith(text))
    .flatMap(({ imsi_sha256_12: hash, ue_ip, apn, id }) =>
      entry(`/sims/${hash}`, t('app.palette.session'), [ue_ip ?? '', apn], id),
    )
}

async function people(text: string): Promise<readonly Entry[]> {
  if (ifPage('/people') === undefined) return []
  const result = await api.get('/v1/users', { query: { limit: LOOKED_THROUGH } })
  if (!result.ok) return []
  return result.data.users
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .flatMap(({ id, name }) => entry(`/people/${id}`, t('app.palette.person'), [name]))
}

function entry(path: string, kind: string, words: readonly string[], id = path): readonly Entry[] {
  const href = ifPage(path)
  const name = words.filter((word) => word !== '').join(' ')
  return href === undefined ? [] : [{ name, kind, key: `${kind} ${id}`, go: () => navigate(href) }]
}
