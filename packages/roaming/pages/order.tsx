import { Select, t, useQuery, useState, word } from '@steeple/console/kit'
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
        label={t('reach.title')}
        value={reach}
        onChange={(wanted) => set(wanted, named)}
        options={[
          { value: '', label: t('reach.default') },
          ...REACHES.map((value) => ({ value, label: word('reach.is', value) })),
        ]}
      />
      {reach === 'boxes' ? (
        <Choice boxes={boxes} chosen={named} onChosen={(chosen) => set(reach, chosen)} />
      ) : null}
    </>
  )
}
