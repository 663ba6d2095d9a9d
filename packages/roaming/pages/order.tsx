import { choices, Select, t, useQuery, useState } from '@steeple/console/kit'
import { Choice, MOST, REACHES } from './choice.tsx'

interface More {
  readonly reach: string | undefined
  readonly boxes: readonly string[] | undefined
}

/** Where SIMs that are ordered work. Nothing of a box without others. */
export function Panel({ onMore }: { readonly onMore: (more: More) => void }) {
  const boxes = useQuery('/v1/roaming/boxes', { query: { limit: MOST } }).data?.boxes ?? []
  const [reach, setReach] = useState('')
  const [named, setNamed] = useState<ReadonlySet<string>>(new Set())
  const set = (wanted: string, chosen: ReadonlySet<string>): void => {
    setReach(wanted)
    setNamed(chosen)
    const isNamed = wanted === 'boxes'
    onMore({ reach: wanted === '' ? undefined : wanted, boxes: isNamed ? [...chosen] : undefined })
  }
  if (boxes.length === 0) return null
  return (
    <>
      <Select
        text="reach.title"
        value={reach}
        onChange={(wanted) => set(wanted, named)}
        options={choices('reach.is', REACHES, t('reach.default'))}
      />
      {reach === 'boxes' ? (
        <Choice boxes={boxes} chosen={named} onChosen={(chosen) => set(reach, chosen)} />
      ) : null}
    </>
  )
}
