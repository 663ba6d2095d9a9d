import type { Problem } from '@steeple/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { useLeavingGuard } from '../../app/use-leaving-guard.ts'
import { t } from '../../text/index.ts'
import { toast } from '../../ui/toast.tsx'
import {
  changedPaths,
  type Draft,
  draftOf,
  type Policy,
  patchOf,
  rebased,
  type Typed,
} from './rule-fields.ts'

/** The rules as they were when typing began. */
interface Base {
  readonly policy: Policy
  readonly etag: string | undefined
  readonly draft: Draft
}

/** The form of the rules: what is typed, what is in force, and what somebody else has done meanwhile. */
export interface Rules {
  readonly policy: Policy | undefined
  /** Why they could not be read. */
  readonly problem: Problem | undefined
  readonly reload: () => void
  readonly draft: Draft
  readonly set: (path: string, typed: Typed) => void
  /** The rules that were touched here, and what they were. */
  readonly own: readonly string[]
  readonly before: Draft
  /** What is in force now, when somebody else was first; undefined when nobody was. */
  readonly theirs: Draft | undefined
  /** Keeps what is typed on top of what is in force now. */
  readonly keep: () => void
  /** Gives up what is typed. */
  readonly drop: () => void
  readonly save: () => Promise<void>
  readonly isSaving: boolean
  readonly error: Problem | undefined
  /** What cannot be sent as it is typed, by path. */
  readonly wrong: ReadonlySet<string>
}

const NOTHING: Draft = {}

/** Reads the rules, and keeps what is typed whatever happens to them meanwhile. */
export function useRules(): Rules {
  const query = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const [base, setBase] = useState<Base | undefined>(undefined)
  const [draft, setDraft] = useState<Draft>(NOTHING)
  const [wrong, setWrong] = useState<ReadonlySet<string>>(new Set())
  const change = useAction((patch: object, etag: string | undefined) =>
    api.put('/v1/policy', { body: patch, ...(etag === undefined ? {} : { ifMatch: etag }) }),
  )
  const own = base === undefined ? [] : changedPaths(base.draft, draft)
  // What was read before a save says nothing of what is in force after it.
  const outdated = useRef<Policy | undefined>(undefined)
  const { etag } = query
  const data = query.data === outdated.current ? undefined : query.data
  const adopt = (policy: Policy, tag: string | undefined, typed: Draft): void => {
    setBase({ policy, etag: tag, draft: draftOf(policy) })
    setDraft(typed)
    setWrong(new Set())
    change.clear()
  }
  useEffect(() => {
    if (data === undefined || data.revision === base?.policy.revision) return
    // Nothing is typed: the form simply follows.
    if (own.length === 0) adopt(data, etag, draftOf(data))
  }, [data, own.length])
  useLeavingGuard(own.length > 0 ? t('rules.leave') : undefined)
  const isStale = base !== undefined && data !== undefined && data.revision !== base.policy.revision
  const save = async (): Promise<void> => {
    if (base === undefined) return
    const sent = patchOf(base.draft, draft)
    setWrong(sent.wrong)
    if (sent.wrong.size > 0) return
    const result = await change.run(sent.patch, base.etag)
    if (result === undefined) return
    // Refused as stale: what is in force now is read, and shown beside what is typed.
    if (!result.ok) query.reload()
    else {
      outdated.current = query.data
      adopt(result.data, result.etag, draftOf(result.data))
      query.reload()
      toast({ text: t('rules.saved', { revision: result.data.revision }) })
    }
  }
  return {
    policy: base?.policy,
    problem: base === undefined ? query.error : undefined,
    reload: query.reload,
    draft,
    set: (path, typed) => setDraft((known) => ({ ...known, [path]: typed })),
    own,
    before: base?.draft ?? NOTHING,
    theirs: isStale && own.length > 0 ? draftOf(data) : undefined,
    keep: () => {
      if (base !== undefined && data !== undefined)
        adopt(data, etag, rebased(draft, base.draft, draftOf(data)))
    },
    drop: () => {
      const now = data ?? base?.policy
      if (now !== undefined) adopt(now, data === undefined ? base?.etag : etag, draftOf(now))
    },
    save,
    isSaving: change.isBusy,
    error: change.error,
    wrong,
  }
}
