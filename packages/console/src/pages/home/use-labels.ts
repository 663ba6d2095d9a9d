import { useEffect, useState } from 'preact/hooks'
import { listen } from '../../api/changes.ts'
import { api } from '../../api/client.ts'

const RELABELLED = ['sim.label', 'sim.bulk', 'sim.import']

/** Labels of a few SIMs by their hashes, read once and after they may have changed; those without one are not among them. */
export function useLabels(hashes: readonly string[]): ReadonlyMap<string, string> {
  const [labels, setLabels] = useState<ReadonlyMap<string, string>>(new Map())
  const wanted = hashes.toSorted().join(' ')
  useEffect(() => {
    if (wanted === '') return undefined
    let isOver = false
    const look = async (): Promise<void> => {
      const found = await Promise.all(wanted.split(' ').map(labelOf))
      if (!isOver) setLabels(new Map(found.flat()))
    }
    void look()
    const stop = listen(RELABELLED, () => void look())
    return () => {
      isOver = true
      stop()
    }
  }, [wanted])
  return labels
}

async function labelOf(hash: string): Promise<readonly (readonly [hash: string, label: string])[]> {
  const answer = await api.get('/v1/sims/{imsi}', { path: { imsi: hash } })
  const label = answer.ok ? answer.data.label : null
  return label === null || label === '' ? [] : [[hash, label]]
}
