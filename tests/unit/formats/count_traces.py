"""Prints the tables of real_traces_table.h, straight from the JSON with decimal arithmetic.

Use: python3 tests/unit/formats/count_traces.py tests/data/traces/*.gz
"""
import gzip,json,sys,collections,decimal
def kind(e):
    c=e.get('cat','')
    if c in('user_annotation',): return 'step' if e['name'].startswith('ProfilerStep#') else 'annotation'
    return {'cpu_op':'op','python_function':'python_frame','cuda_runtime':'runtime_call','cuda_driver':'driver_call','kernel':'kernel','gpu_memcpy':'memcpy','gpu_memset':'memset','gpu_user_annotation':'device_annotation','overhead':'overhead','cuda_sync':'sync','Kernel':'kernel','Runtime':'runtime_call','mtia_runtime':'runtime_call','mtia_ccp_events':'kernel'}.get(c,'other')
order=['op','annotation','step','python_frame','runtime_call','driver_call','kernel','memcpy','memset','sync','device_annotation','overhead','other']
def main(f):
    d=json.loads(gzip.open(f).read(),parse_float=decimal.Decimal)
    base=d.get('baseTimeNanoseconds',0)
    c=collections.Counter(); start=0; dur=0; corr=0; ext=0; mem=0; grid=0; reg=0; strong=0
    names=set()
    for e in d['traceEvents']:
        if e['ph']=='X':
            k=kind(e); c[k]+=1
            s=decimal.Decimal(e['ts'])*1000; t=decimal.Decimal(e['dur'])*1000
            assert s==int(s) and t==int(t)
            start+=int(s)+base; dur+=int(t); names.add(e['name'])
            a=e.get('args',{})
            if k not in('python_frame',):
                corr+=max(0,a.get('correlation',0) or 0); ext+=max(0,a.get('External id',a.get('external id',0)) or 0)
            if k in('kernel','memcpy','memset'):
                grid+=sum(a.get('grid',[])); reg+=a.get('registers per thread',0)
        elif e.get('name')=='[memory]' and e['args']['Device Type']!=0: mem+=1
    return len(d['traceEvents']),[c[k] for k in order],start%(1<<64),dur,corr,ext,grid,reg,mem
import glob,os
for f in sorted(sys.argv[1:]):
    n,cs,s,t,co,ex,g,r,m=main(f)
    print('    {"%s", %d, {%s}, %dULL, %d, %d, %d, %d, %d, %d},'%(os.path.basename(f),n,', '.join(map(str,cs)),s,t,co,ex,g,r,m))
