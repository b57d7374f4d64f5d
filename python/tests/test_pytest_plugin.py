"""The plug-in, in a pytest of its own; PyTorch and the recording are stood in for, so it runs everywhere."""

pytest_plugins = ["pytester"]

# A hunch.expect that reads a trace of the repository in place of a recording.
STAND_IN = '''
import contextlib, pathlib, sys, types
import pytest
import hunch
import hunch.pytest_plugin

@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    @contextlib.contextmanager
    def expect(*, range="expected", allow_unknown=False, trace=None, **expected):
        yield
        hunch.check({trace!r}, **expected).raise_if_missed(allow_unknown)
    monkeypatch.setattr(hunch, "expect", expect)

@pytest.fixture(autouse=True, scope="session")
def with_gpu():
    hunch.pytest_plugin._missing = lambda gpu: "PyTorch sees no GPU" if gpu and not {gpu!r} else None
'''


def make(pytester, gpu=True):
    import test_traces
    trace = str(test_traces.trace("naive"))
    pytester.makeconftest(STAND_IN.replace("{trace!r}", repr(trace)).replace("{gpu!r}", repr(gpu)))


def run(pytester, *arguments):
    return pytester.runpytest_inprocess("-p", "hunch.pytest_plugin", *arguments)


def test_a_guess_that_holds_passes(pytester):
    make(pytester)
    pytester.makepyfile("""
        import pytest
        @pytest.fixture
        def two(): return 2
        @pytest.mark.hunch(kernels=5, backend="naive")
        def test_it(two): assert two == 2
    """)
    run(pytester).assert_outcomes(passed=1)


def test_a_miss_fails_with_the_evidence(pytester):
    make(pytester)
    pytester.makepyfile("""
        import pytest
        @pytest.mark.hunch(kernels=5, memcpy=0)
        def test_it(): pass
    """)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*MISS*memcpy*0*1*", "*hidden_copy*"])


def test_the_tests_own_failure_is_shown(pytester):
    make(pytester)
    pytester.makepyfile("""
        import pytest
        @pytest.mark.hunch(memcpy=0)
        def test_it(): assert 1 == 2
    """)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])


def test_an_empty_marker_is_an_error(pytester):
    make(pytester)
    pytester.makepyfile("""
        import pytest
        @pytest.mark.hunch
        def test_it(): pass
    """)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*takes metrics as keywords*"])


def test_without_a_gpu_it_skips_or_fails_as_asked(pytester):
    pytester.makepyfile("""
        import pytest
        @pytest.mark.hunch(kernels=1)
        def test_marked(): pass
        def test_fixture(hunch_profile): pass
        def test_plain(): pass
        @pytest.mark.hunch(backend="naive")
        def test_of_the_backend_alone(): pass
    """)
    make(pytester, gpu=False)
    run(pytester).assert_outcomes(skipped=2, passed=2)
    result = run(pytester, "--hunch-require")
    result.assert_outcomes(failed=2, errors=1, passed=1)
    result.stdout.fnmatch_lines(["*--hunch-require: PyTorch sees no GPU*"])
